import type { ContentPart, Message, ToolCall } from '../core/conversation';
import { DomainError } from '../core/errors';
import { numbersBeyondDoubles } from '../core/json-numbers';
import { strip } from './jinja/python-text';
import { objectMembers, respaceJson } from './json-text';
import type { Mark } from './marked-conversation';
import { markConversation } from './marked-conversation';
import { partsOf, textOf } from './message-text';
import { isRecord, parseJson, splitThinking, withOpenedBlock } from './reply-blocks';
import type { Stretch } from './taken-text';
import { TakenText } from './taken-text';
import { TOOL_DECLARATION_ROLE } from './template-text';

/** A text in which the words of messages are looked for. */
interface RenderedText {
  readonly renderer: string;
  readonly text: string;
  /** Where the words of the message may begin. */
  readonly from: number;
  /** Where they are looked for first; they may be anywhere. */
  readonly near?: number;
  /** What nobody wrote, where that is known: words within it are none of a message. */
  readonly layout?: readonly Stretch[];
}

interface WholeText extends Pick<RenderedText, 'renderer' | 'text'> {
  /** Which messages carry loss. */
  readonly trained?: readonly boolean[];
}

/** What is asked for: all that is said, or only what no prompt may leave out, since templates shorten past replies. */
type Extent = 'whole' | 'prompt';

/** Messages that templates gather at the start, or put before another message. */
const UNORDERED = ['system'];

/**
 * Refuses a conversation of which a renderer or template left something out: what a message says, the name of who says
 * it, the name of a tool it calls and the arguments have to stand in the text, one message after another. Reasoning may be dropped from history.
 */
export function requireWritten(
  messages: readonly Message[],
  { renderer, text, trained = [] }: WholeText,
  extent: Extent,
): void {
  let from = 0;
  messages.forEach((message, index) => {
    // Tools are handed over as values, and written in many ways.
    if (message.role === TOOL_DECLARATION_ROLE) return;
    const isUnordered = UNORDERED.includes(message.role);
    const isLast = index === messages.length - 1;
    const place = { renderer, text, from: isUnordered ? 0 : from, isTrained: trained[index] === true };
    const end = requireMessage(message, { ...place, index, isLast }, extent);
    from = isUnordered ? from : Math.max(from, end);
  });
}

/**
 * As `requireWritten`, and exact: the layout, in which short words are found as well, says nothing of a conversation under
 * values of its own. A template that refuses those has looked at them.
 */
export function requireEveryPiece(
  messages: readonly Message[],
  { renderer, extent }: { readonly renderer: string; readonly extent: Extent },
  render: (messages: readonly Message[]) => string,
): void {
  const marked = markConversation(messages, extent);
  const text = textOr(render, marked.messages);
  // Marks stand in their order all but always: each is looked for behind the one before, and only then everywhere.
  let from = 0;
  const isWritten = ({ value }: Mark, text: string) => {
    const behind = text.indexOf(value, from);
    const at = behind < 0 ? text.indexOf(value) : behind;
    if (at >= 0) from = at;
    return at >= 0;
  };
  const missing = marked.marks.find(
    (mark) => text !== null && !isWritten(mark, text) && !isWrittenById(mark, messages, render),
  );
  if (missing) throw refusal(missing.what, { renderer, index: missing.index });
}

/** Kimi's templates write a call's id in place of its name. */
function isWrittenById(
  { index, callNumber }: Mark,
  messages: readonly Message[],
  render: (messages: readonly Message[]) => string,
): boolean {
  if (callNumber === undefined) return false;
  const renamed = messages.map((message, at) =>
    at === index && message.toolCalls
      ? {
          ...message,
          toolCalls: message.toolCalls.map((call, number) =>
            number === callNumber && call.id !== undefined
              ? { ...call, id: call.id.replaceAll(/[A-Za-z0-9]/g, 'x') }
              : call,
          ),
        }
      : message,
  );
  return textOr(render, renamed) !== textOr(render, messages);
}

/** Null where the template refuses the conversation. */
function textOr(
  render: (messages: readonly Message[]) => string,
  messages: readonly Message[],
): string | null {
  try {
    return render(messages);
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

interface MessagePlace extends RenderedText {
  readonly index: number;
  readonly isLast: boolean;
  readonly isTrained: boolean;
}

/** As `requireWritten` of one message; returns where its words end. */
export function requireMessage(message: Message, place: MessagePlace, extent: Extent): number {
  const said = requireSaid(message, place, extent);
  requireName(message, place, said);
  const calls = message.toolCalls ?? [];
  // A call that is only spoken of is not written.
  const [spoken, taken] = [new TakenText(said), new TakenText(said)];
  for (const call of calls) {
    const words = { words: call.name, what: `the call of tool "${call.name}"` };
    // Kimi's templates write a call's id in place of its name.
    const byId = call.id !== undefined && find(call.name, place, taken) === null;
    const found = requireWords(byId ? { ...words, words: call.id } : words, place, taken);
    taken.add(found, place.text.slice(found.start, found.end));
    if (extent === 'whole') requireArguments(call, { ...place, near: found.end }, spoken);
  }
  return Math.max(place.from, taken.end);
}

/** Each part of a message in a place of its own. The longest first, since a short one may also occur within another. */
function requireSaid(message: Message, place: MessagePlace, extent: Extent): readonly Stretch[] {
  const isRequired = extent === 'whole' || message.role !== 'assistant';
  const said: Stretch[] = [];
  const taken = new TakenText([]);
  const parts = wordsOf(message, place).sort((a, b) => b.words.length - a.words.length);
  for (const part of parts) {
    const found = isRequired ? requireWords(part, place, taken) : find(part.words, place, taken);
    if (!found) continue;
    said.push(found);
    taken.add(found);
  }
  return said;
}

/** Of one who speaks; that of a tool is told by the call it answers. */
function requireName({ role, name }: Message, place: MessagePlace, said: readonly Stretch[]): void {
  if (name === undefined || role === 'tool') return;
  const what = `the name "${name.slice(0, 80)}" (dataset.ignoreKeys: [name] leaves out those of a data set)`;
  requireWords({ words: name, what }, place, new TakenText(said));
}

function requireWords({ words, what }: Words, place: MessagePlace, taken: TakenText): Stretch {
  const found = find(words, place, taken);
  if (found) return found;
  throw refusal(what, place);
}

function refusal(what: string, { renderer, index }: Pick<MessagePlace, 'renderer' | 'index'>): DomainError {
  return new DomainError(
    'bad-dataset',
    `messages[${index}]: renderer "${renderer}" does not write ${what}. Remove it from the message, or use a renderer that writes it.`,
  );
}

interface Words {
  readonly words: string;
  /** For messages. */
  readonly what: string;
}

function wordsOf(message: Message, { isLast, isTrained }: MessagePlace): Words[] {
  const what = `the words of role "${message.role.slice(0, 80)}"`;
  if (message.role !== 'assistant') return [{ words: textOf(message), what }];
  const parts = splitReply(message);
  const first = parts.findIndex((part) => part.type === 'text' && part.text.trim() !== '');
  return parts.flatMap((part, index): Words[] => {
    if (part.type === 'text') return [{ words: part.text, what: nearBlock(message, part.text) + what }];
    // A block that stands among words may be spoken of: what carries loss would lose a piece of a sentence.
    const isSpoken = isTrained && typeof message.content === 'string' && first >= 0 && first < index;
    if (isSpoken && !isLast)
      return [{ words: part.thinking, what: `"${part.thinking.slice(0, 40)}" in ${what}` }];
    return isLast ? [{ words: part.thinking, what: 'its reasoning' }] : [];
  });
}

/** Where a reply speaks before and after its reasoning, which words are meant. */
function nearBlock(message: Message, text: string): string {
  return textOf(message).trim() === text.trim() ? '' : `"${text.trim().slice(0, 40)}" in `;
}

/** Words and reasoning in their order, whether that stands in parts or in `<think>` blocks of a text. */
export function splitReply(message: Message): readonly ContentPart[] {
  return partsOf(message).flatMap((part) =>
    part.type === 'text' ? (splitThinking(withOpenedBlock(part.text)) ?? [part]) : [part],
  );
}

/** As they were given, or, since templates sort arguments and spell them in their own way, every key and text in any order. */
function requireArguments(call: ToolCall, place: MessagePlace, taken: TakenText): void {
  const parsed = parseJson(call.arguments);
  if (!('value' in parsed)) return;
  const isSpelled = (json: string) =>
    [json, respaceJson(json)].some((spelled) => findOutside(spelled, place, taken) >= 0);
  if (isSpelled(call.arguments)) return;
  for (const words of unspelledTexts(call.arguments, parsed.value, isSpelled)) {
    requireWords({ words, what: `"${words.slice(0, 40)}" in the call of tool "${call.name}"` }, place, taken);
  }
  // Templates write floats as Python does: 0.10 as 0.1, and 1e999 as Infinity.
  for (const words of numbersBeyondDoubles(call.arguments)) {
    const what = `the number ${words.slice(0, 40)} in the call of tool "${call.name}" as it stands`;
    requireWords({ words, what }, place, taken);
  }
}

/** Formats in XML write each argument by itself, and lists and objects among them with the escapes that they have. */
function unspelledTexts(json: string, value: unknown, isSpelled: (json: string) => boolean): string[] {
  if (!isRecord(value)) return textsIn(value);
  const whole = objectMembers(json).filter(({ text }) => /^[{[]/.test(text) && isSpelled(text));
  const spelled = new Set(whole.map(({ name }) => name));
  return Object.entries(value).flatMap(([key, inner]) => [key, ...(spelled.has(key) ? [] : textsIn(inner))]);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
}

/** Where the words stand, as they are or as JSON and Python spell them; null where they are missing. */
function find(words: string, place: RenderedText, taken: TakenText): Stretch | null {
  const trimmed = strip(words);
  if (trimmed === '') return { start: place.from, end: place.from };
  for (const spell of SPELLINGS) {
    const spelled = spell(trimmed);
    const start = findOutside(spelled, place, taken);
    if (start >= 0) return { start, end: start + spelled.length };
  }
  return null;
}

/** Where they are thought to stand, or else anywhere. */
function findOutside(words: string, place: RenderedText, taken: TakenText): number {
  const near = place.near === undefined ? -1 : findFrom(words, { ...place, from: place.near }, taken);
  return near >= 0 ? near : findFrom(words, { ...place, from: taken.passedBy(words) ?? place.from }, taken);
}

function findFrom(words: string, { text, from, layout = [] }: RenderedText, taken: TakenText): number {
  let start = text.indexOf(words, from);
  for (;;) {
    const at = start;
    const end = at + words.length;
    if (at < 0) return at;
    const hit = taken.overlapping(at, end);
    if (!hit && !layout.some((one) => at >= one.start && end <= one.end)) return at;
    start = text.indexOf(words, hit?.end ?? at + 1);
  }
}

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
const inAscii = (text: string) =>
  text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  escaped,
  (text) => inAscii(escaped(text)),
  (text) => escaped(text).replaceAll(String.raw`\"`, '"'),
  (text) =>
    escaped(text)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`),
  (text) => escaped(escaped(text)),
];
