/** A fenced code block by CommonMark's rules (spec 0.31, section 4.5), with what models make of them. */
export interface FencedBlock {
  /** First word behind the opening fence; empty where there is none. */
  readonly language: string;
  readonly code: string;
  /** False where the text ends first. */
  readonly isClosed: boolean;
  /** Where the line of the opening fence begins. */
  readonly start: number;
}

/** Words before a fence that stands on their line are passed over, marks of lists and quotes among them. */
const OPENING = /^(.*?)(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`]*$/s;
const CLOSING = /^[ \t>]*(`{3,}|~{3,})[ \t\r]*$/;
/** Behind the last line of code. */
const CLOSING_AT_END = /^(.*[^`])(`{3,})[ \t\r]*$/;
const TRIPLE_QUOTES = /"""|'''/g;
/** A closing fence is indented less than this beyond its opening one, else it is code. */
const CODE_INDENT = 4;

interface Line {
  readonly text: string;
  readonly start: number;
}

interface Opening {
  readonly fence: string;
  readonly language: string;
  readonly indent: number;
  readonly start: number;
}

/**
 * The fenced blocks of a text in order. A fence closes only by one of the same sign and at least its length, alone on its line; not within a
 * text of three quotes, as in a docstring, unless nothing else closes it. Lines lose the indentation of the opening fence.
 */
export function fencedBlocks(text: string): readonly FencedBlock[] {
  const lines = linesOf(text);
  const blocks: FencedBlock[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index];
    const opening = line && openingOf(line);
    if (!opening) continue;
    const { block, next } = blockFrom(lines, index + 1, opening);
    blocks.push(block);
    index = next;
  }
  return blocks;
}

function linesOf(text: string): readonly Line[] {
  let start = 0;
  return text.split('\n').map((line) => {
    const at = start;
    start += line.length + 1;
    return { text: line, start: at };
  });
}

function openingOf({ text, start }: Line): Opening | null {
  const [, before = '', fence, language = ''] = OPENING.exec(text) ?? [];
  if (fence === undefined) return null;
  const hasWords = /[^\s>*+\-\d.)]/.test(before);
  // "~~~" within a line is nobody's fence.
  if (fence.startsWith('~') && before.trim() !== '') return null;
  return { fence, language, indent: hasWords ? 0 : before.length, start };
}

function blockFrom(
  lines: readonly Line[],
  first: number,
  opening: Opening,
): { readonly block: FencedBlock; readonly next: number } {
  const end = closingFrom(lines, first, opening);
  const body = lines.slice(first, end === null ? undefined : end.line).map(({ text }) => text);
  if (end !== null && end.rest !== null) body.push(end.rest);
  const code = body.map((line) => withoutIndent(line, opening.indent)).join('\n');
  return {
    block: {
      language: opening.language,
      code: code === '' ? '' : `${code}\n`,
      isClosed: end !== null,
      start: opening.start,
    },
    next: end === null ? lines.length : end.line,
  };
}

/** The line that closes, and what of it is code. */
interface Closing {
  readonly line: number;
  readonly rest: string | null;
}

function closingFrom(lines: readonly Line[], first: number, opening: Opening): Closing | null {
  const body = lines.slice(first).map(({ text }) => text);
  const quoted = insideQuotes(body);
  const closings = body.flatMap((text, index) => (closes(text, opening) ? [index] : []));
  const index = closings.find((each) => !quoted[each]) ?? closings[0];
  if (index !== undefined) return { line: first + index, rest: null };
  for (const [at, text] of body.entries()) {
    const [, rest, fence] = CLOSING_AT_END.exec(text) ?? [];
    if (rest !== undefined && fence === opening.fence) return { line: first + at, rest };
  }
  return null;
}

/** Of each line whether it begins within a text of three quotes. */
function insideQuotes(lines: readonly string[]): readonly boolean[] {
  let isInside = false;
  return lines.map((text) => {
    const wasInside = isInside;
    if ((text.match(TRIPLE_QUOTES)?.length ?? 0) % 2 === 1) isInside = !isInside;
    return wasInside;
  });
}

function closes(text: string, { fence, indent }: Opening): boolean {
  const own = CLOSING.exec(text)?.[1];
  if (own === undefined || !own.startsWith(fence)) return false;
  return text.indexOf(own) < indent + CODE_INDENT;
}

function withoutIndent(line: string, indent: number): string {
  const own = /^[ \t>]*/.exec(line)?.[0].length ?? 0;
  return line.slice(Math.min(own, indent));
}
