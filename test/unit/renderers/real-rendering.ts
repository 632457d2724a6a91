import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ToolDeclaration } from '../../../src/core/completion';
import type { Message, TrainOnWhat } from '../../../src/core/conversation';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer } from '../../../src/renderers/find-renderer';
import type { ParsedReply, Renderer } from '../../../src/renderers/renderer';
import type { ChatTokenizer } from '../../../src/renderers/tokenizers/hugging-face-tokenizer';

interface VectorMessage {
  readonly role: string;
  readonly content: Message['content'];
  readonly tool_calls?: readonly { id: string | null; function: { name: string; arguments: string } }[];
  readonly unparsed_tool_calls?: readonly { raw_text: string }[];
  readonly name?: string;
  readonly tool_call_id?: string;
}

interface Conversation {
  readonly messages: readonly VectorMessage[];
  readonly tools?: readonly ToolDeclaration[];
}

type Range = readonly [number, number];

interface Expected {
  readonly raises?: string;
  readonly tokens?: readonly number[];
  readonly trained?: Readonly<Record<string, readonly Range[] | { readonly raises: string }>>;
  readonly stop?: readonly (number | string)[];
  readonly message?: VectorMessage;
  readonly termination?: string;
  readonly text?: string;
  readonly plain?: readonly number[];
  readonly decoded?: string;
  readonly decoded_without_special?: string;
}

export interface RenderingCase {
  readonly id: string;
  readonly kind: string;
  readonly model: string;
  readonly renderer?: string;
  readonly conversation: string;
  readonly kwargs?: Readonly<Record<string, unknown>>;
  readonly prefill?: string;
  readonly sampled?: readonly number[];
  readonly text?: string;
  readonly expected: Expected;
}

export interface RenderingFamily {
  readonly conversations: Readonly<Record<string, Conversation>>;
  readonly cases: readonly RenderingCase[];
}

/** What the cookbook and the models' own templates make of conversations; null where the vectors are absent. */
export function readRenderings(family: string): RenderingFamily | null {
  const vectors = process.env['EVERSTEP_VECTORS_DIR'] ?? resolve(__dirname, '../../../../shared/vectors');
  const path = join(vectors, 'real-rendering', `${family}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as RenderingFamily) : null;
}

export interface Site {
  readonly family: RenderingFamily;
  readonly tokenizer: ChatTokenizer;
  readonly renderers: Map<string, Renderer>;
}

/** Beginnings say on which side a difference is. */
export type Difference = `refused: ${string}` | `not refused: ${string}` | `differs: ${string}`;

/** Null where ours is what the reference makes of it. */
export function differenceOf(one: RenderingCase, site: Site): Difference | null {
  const { raises } = one.expected;
  let ours: Expected;
  try {
    ours = oursOf(one, site);
  } catch (error) {
    return raises === undefined ? `refused: ${String(error)}` : null;
  }
  if (raises !== undefined) return `not refused: ${raises}`;
  const keys = (Object.keys(ours) as (keyof Expected)[]).filter((key) => key in one.expected);
  const other = keys.find((key) => !isDeepStrictEqual(ours[key], comparable(one, key)));
  if (other === undefined) return null;
  const shown = (value: unknown) => (other === 'tokens' ? textOf(value, site) : JSON.stringify(value));
  return `differs: ${other}: ${shown(ours[other])} instead of ${shown(comparable(one, other))}`;
}

const TEMPLATE_KINDS: Readonly<Record<string, string>> = {
  'cookbook-supervised': 'template-whole',
  'cookbook-prompt': 'template-prompt',
  'cookbook-prefill': 'template-prompt',
};

/** Whether ours is what the model's own template makes of the same conversation, but for a line break after the end. */
export function isModelTemplate(one: RenderingCase, site: Site): boolean {
  const kind = TEMPLATE_KINDS[one.kind];
  if (kind === undefined) return false;
  const ours = afterMaker(tokensOf(one, site) ?? [], site);
  const prefill = site.tokenizer.encode(one.prefill ?? '', { allowSpecial: true });
  return site.family.cases.some(
    (other) =>
      other.kind === kind &&
      other.conversation === one.conversation &&
      other.model === one.model &&
      isAllBut([...afterMaker(other.expected.tokens ?? [], site), ...prefill], ours),
  );
}

const MAKER = '<|start|>system<|message|>';

/** Without the system message of gpt-oss's maker, which differs by effort and is tested by itself. */
function afterMaker(tokens: readonly number[], { tokenizer }: Site): readonly number[] {
  const maker = tokenizer.encode(MAKER, { allowSpecial: true });
  if (!maker.every((token, index) => tokens[index] === token)) return tokens;
  const [end] = tokenizer.encode('<|end|>', { allowSpecial: true });
  return tokens.slice(tokens.indexOf(end ?? -1) + 1);
}

function isAllBut(template: readonly number[], ours: readonly number[]): boolean {
  if (ours.length === 0 || template.length - ours.length > 1) return false;
  return ours.every((token, index) => token === template[index]);
}

function tokensOf(one: RenderingCase, site: Site): readonly number[] | null {
  try {
    return oursOf(one, site).tokens ?? null;
  } catch {
    return null;
  }
}

function textOf(tokens: unknown, { tokenizer }: Site): string {
  return JSON.stringify(tokenizer.decode(tokens as number[]));
}

function comparable({ expected }: RenderingCase, key: keyof Expected): unknown {
  if (key === 'message' && expected.message) return plainMessage(expected.message);
  if (key === 'trained') return Object.fromEntries(rangesOf(expected.trained ?? {}));
  return expected[key];
}

function rangesOf(trained: NonNullable<Expected['trained']>): [string, readonly Range[]][] {
  return Object.entries(trained).flatMap(([mode, ranges]) =>
    'raises' in ranges ? [] : [[mode, ranges] as [string, readonly Range[]]],
  );
}

function oursOf(one: RenderingCase, site: Site): Expected {
  if (one.kind === 'tokenizer') return encoded(one.text ?? '', site.tokenizer);
  const renderer = rendererOf(one, site);
  switch (one.kind) {
    case 'cookbook-stop':
      return { stop: renderer.stopSequences() };
    case 'cookbook-parse':
      return parsed(renderer.parseCompletion(one.sampled ?? []));
    case 'cookbook-supervised':
      return supervised(one, site, renderer);
    case 'template-whole':
      return { tokens: renderer.buildSupervisedExample(messagesOf(one, site, renderer), 'allTokens').tokens };
    default:
      return {
        tokens: renderer.buildGenerationPrompt(
          withoutReply(messagesOf(one, site, renderer)),
          one.prefill === undefined ? {} : { prefill: one.prefill },
        ),
      };
  }
}

/** Our text of what a template wrote, by a renderer of our own; null where we refuse it. */
export function textLike(one: RenderingCase, name: string, site: Site): string | null {
  const tokens = tokensOf({ ...one, renderer: name }, site);
  return tokens === null ? null : site.tokenizer.decode([...tokens]);
}

function rendererOf({ renderer: name = 'chat_template', kwargs = {} }: RenderingCase, site: Site): Renderer {
  const { renderers, tokenizer } = site;
  const given = name === 'chat_template' ? kwargs : {};
  const key = `${name} ${JSON.stringify(given)}`;
  const renderer = renderers.get(key) ?? findRenderer(name, tokenizer, given);
  renderers.set(key, renderer);
  return renderer;
}

function encoded(text: string, tokenizer: ChatTokenizer): Expected {
  const tokens = tokenizer.encode(text, { allowSpecial: true });
  return {
    tokens,
    plain: tokenizer.encode(text),
    decoded: tokenizer.decode(tokens),
    decoded_without_special: tokenizer.decode(tokens, { skipSpecial: true }),
  };
}

function supervised(one: RenderingCase, site: Site, renderer: Renderer): Expected {
  const messages = messagesOf(one, site, renderer);
  const modes = rangesOf(one.expected.trained ?? {}).map(([mode]) => mode);
  const examples = modes.map((mode) => {
    const marked =
      mode === 'customized'
        ? messages.map((message, index) => ({ ...message, trainable: index % 2 === 1 }))
        : messages;
    return renderer.buildSupervisedExample(marked, camelCase(mode));
  });
  return {
    tokens: examples[0]?.tokens ?? [],
    trained: Object.fromEntries(
      examples.map(({ weights }, index) => [modes[index] ?? '', weightRanges(weights)]),
    ),
  };
}

function camelCase(mode: string): TrainOnWhat {
  return mode.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) as TrainOnWhat;
}

function weightRanges(weights: readonly number[]): Range[] {
  const ranges: [number, number][] = [];
  weights.forEach((weight, index) => {
    const last = ranges.at(-1);
    if (weight !== 1) return;
    if (last?.[1] === index) last[1] = index + 1;
    else ranges.push([index, index + 1]);
  });
  return ranges;
}

function messagesOf(one: RenderingCase, { family }: Site, renderer: Renderer): readonly Message[] {
  const { messages, tools } = family.conversations[one.conversation] ?? { messages: [] };
  return conversationWithTools(renderer, messages.map(toMessage), tools);
}

function toMessage(message: VectorMessage): Message {
  const { role, content, name, tool_call_id: toolCallId, tool_calls: calls } = message;
  return {
    role,
    content,
    ...(name !== undefined && { name }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(calls && {
      toolCalls: calls.map(({ id, function: called }) => ({ ...(id !== null && { id }), ...called })),
    }),
  };
}

function withoutReply(messages: readonly Message[]): readonly Message[] {
  return messages.length > 1 && messages.at(-1)?.role === 'assistant' ? messages.slice(0, -1) : messages;
}

function parsed({ message, termination, unparsedToolCalls }: ParsedReply): Expected {
  return {
    message: plainMessage({
      role: message.role,
      content: message.content,
      ...(message.toolCalls && {
        tool_calls: message.toolCalls.map(({ id, name, arguments: text }) => ({
          id: id ?? null,
          function: { name, arguments: text },
        })),
      }),
      ...(unparsedToolCalls && {
        unparsed_tool_calls: unparsedToolCalls.map(({ rawText }) => ({ raw_text: rawText })),
      }),
    }),
    termination,
  };
}

/** Words of several parts and of one are the same, and reasons for what could not be read are in words of our own. */
function plainMessage({
  role,
  content,
  tool_calls: calls,
  unparsed_tool_calls: unparsed,
}: VectorMessage): VectorMessage {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return {
    role,
    content: parts.filter((part) => part.type !== 'text' || part.text !== ''),
    tool_calls: (calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
      id,
      function: { name, arguments: text },
    })),
    unparsed_tool_calls: (unparsed ?? []).map(({ raw_text }) => ({ raw_text })),
  };
}
