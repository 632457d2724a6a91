import type { OpenedFence } from './closing-fences';
import { Closings } from './closing-fences';

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

/** A fence and the first word behind it. */
const OPENING = /(`+|~+)[ \t]*([\w+#.-]*)/y;

interface Line {
  readonly text: string;
  readonly start: number;
}

interface Opening extends OpenedFence {
  readonly language: string;
  readonly start: number;
}

/**
 * The fenced blocks of a text in order. A fence closes only by one of the same sign and at least its length, alone on its line; not within a
 * text of three quotes, as in a docstring, unless nothing else closes it. Lines lose the indentation of the opening fence.
 */
export function fencedBlocks(text: string): readonly FencedBlock[] {
  const lines = linesOf(text);
  const closings = new Closings(lines.map((line) => line.text));
  const blocks: FencedBlock[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index];
    const opening = line && openingOf(line);
    if (!opening) continue;
    const { block, next } = blockFrom({ lines, closings }, index + 1, opening);
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
  const at = fenceIn(text);
  OPENING.lastIndex = at;
  const [, fence, language = ''] = at < 0 ? [] : (OPENING.exec(text) ?? []);
  if (fence === undefined) return null;
  // Words before a fence that stands on their line are passed over, marks of lists and quotes among them.
  const before = text.slice(0, at);
  const hasWords = /[^\s>*+\-\d.)]/.test(before);
  // "~~~" within a line is nobody's fence.
  if (fence.startsWith('~') && before.trim() !== '') return null;
  return { fence, language, indent: hasWords ? 0 : before.length, start };
}

/** Where the fence begins behind which its line has no backtick; negative where there is none. */
function fenceIn(text: string): number {
  const last = text.lastIndexOf('`');
  let first = last;
  while (text[first - 1] === '`') first--;
  return last - first >= 2 ? first : text.indexOf('~~~', last + 1);
}

interface FencedText {
  readonly lines: readonly Line[];
  readonly closings: Closings;
}

function blockFrom(
  { lines, closings }: FencedText,
  first: number,
  opening: Opening,
): { readonly block: FencedBlock; readonly next: number } {
  const end = closings.from(first, opening);
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

function withoutIndent(line: string, indent: number): string {
  const own = /^[ \t>]*/.exec(line)?.[0].length ?? 0;
  return line.slice(Math.min(own, indent));
}
