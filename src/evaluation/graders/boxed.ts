/** Commands that draw a box. */
const BOX = /\\(?:boxed|fbox)(?![a-zA-Z])/g;
/** Without braces a command takes what stands next: "\boxed 7", not "the \boxed environment". */
const BARE = /^ {1,4}(?:(\d[\d.,/]{0,62}\d|\d|[A-Z])(?![\w\\])|(\w{1,64})\s*$)/;

/** What stands in a box that only shows how one is written. */
const PLACEHOLDER =
  /^(?:\\text\s*\{)?[\s<[({]*(?:(?:your|the|my|final|numerical|integer)\s+)*answer(?:\s+here)?[\s>\])}]*$/i;
const NOTHING = /^(?:\s|\.|…|\\[lc]?dots)*$/;
const MENTIONED_BEFORE =
  /\b(?:in|inside|within|into|using|use|with|as|like|the|an?|format|form)[\s:`$'"*(]{0,5}$/i;
const MENTIONED_BEHIND = /^[\s`$'"*)]{0,5}(?:is\s+the\s+)?(?:format|notation|environment|command|box)\b/i;

export interface Box {
  /** What stands between the braces. */
  readonly content: string;
  /** Where the command begins in the text. */
  readonly start: number;
  /** Behind the content and what closes it. */
  readonly end: number;
}

/**
 * Every `\boxed{…}` and `\fbox{…}` of a text in order, with nested braces. A box that is never closed is left out; `\boxed 7` is a
 * box around the number or capital letter behind it, or the word that ends the text, and a command that a sentence speaks of is none. One pass, whatever the text.
 */
export function findBoxes(text: string): readonly Box[] {
  return allBoxes(text).flatMap(({ content, start, end }) =>
    content === null ? [] : [{ content, start, end }],
  );
}

/** The last box is begun and never closed, as where a completion was cut off: the ones before it are not its answer. */
export function endsInOpenBox(text: string): boolean {
  return allBoxes(text).at(-1)?.content === null;
}

/**
 * A box that a sentence speaks of and that holds no answer: "put it in \boxed{}", "use \boxed{...}", "\boxed{your answer}". One that is empty where
 * the answer should stand ("so we get \boxed{}") is none of these.
 */
export function isSpokenOf(text: string, { content, start }: Omit<Box, 'end'>): boolean {
  if (PLACEHOLDER.test(content.slice(0, 60))) return content.length <= 60;
  if (content.length > 20 || !NOTHING.test(content)) return false;
  const behind = text.slice(text.indexOf('}', start) + 1);
  return (
    MENTIONED_BEFORE.test(text.slice(Math.max(0, start - 20), start)) ||
    MENTIONED_BEHIND.test(behind.slice(0, 40))
  );
}

interface BegunBox {
  /** Null where it is never closed. */
  readonly content: string | null;
  readonly start: number;
  readonly end: number;
}

function allBoxes(text: string): readonly BegunBox[] {
  const commands = [...text.matchAll(BOX)];
  if (commands.length === 0) return [];
  const closings = matchBraces(text);
  return commands.flatMap(({ 0: command, index }) => {
    const box = boxBehind(text, index + command.length, closings);
    return box === undefined ? [] : [{ ...box, start: index }];
  });
}

/** Undefined where there is no box. */
function boxBehind(
  text: string,
  after: number,
  closings: ReadonlyMap<number, number>,
): Omit<BegunBox, 'start'> | undefined {
  const open = openingBehind(text, after);
  if (open === null) {
    const bare = BARE.exec(text.slice(after, after + 80));
    const content = bare?.[1] ?? bare?.[2];
    return content === undefined
      ? undefined
      : { content, end: text.indexOf(content, after) + content.length + 1 };
  }
  const close = closings.get(open);
  return close === undefined
    ? { content: null, end: text.length }
    : { content: text.slice(open + 1, close), end: close + 1 };
}

function openingBehind(text: string, after: number): number | null {
  const open = text[after] === ' ' && text[after + 1] === '{' ? after + 1 : after;
  return text[open] === '{' ? open : null;
}

/** Closing brace of each opening one; `\{` and `\}` are text. */
function matchBraces(text: string): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '\\') index++;
    else if (character === '{') open.push(index);
    else if (character === '}') {
      const start = open.pop();
      if (start !== undefined) closings.set(start, index);
    }
  }
  return closings;
}
