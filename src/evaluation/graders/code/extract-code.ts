import { readWithin } from '../../../sandboxes/read-within';
import type { FencedBlock } from './fenced-blocks';
import { fencedBlocks } from './fenced-blocks';

const PYTHON = /^(?:python|py)3?$/i;
/** The form of MBPP's own prompt, whose reply may begin behind the first mark. */
const DONE = '[DONE]';
const BEGIN = /^[^]*?\[BEGIN\]\r?\n?/;
const CALL = /(?<![\w.])([A-Za-z_]\w*)\s*\(/g;
/** Lines of code in the first column. */
const CODE_LINE = /^(?:(?:async[ \t]+)?def|class|import|from|for|while|if|return|print)\b|^\w+[ \t]*=[^=]/m;

/**
 * The code of a reply: of its blocks marked as Python the first that defines one of `names`, else the first; without one the first of any
 * kind that defines one, else the last; a Python block that is not closed (a stop text ended it); what stands before a closing fence
 * without an opening one; what stands before [DONE], and behind [BEGIN] where that is there. Null where nothing is marked as code. Indentation is
 * kept, but for that of a fence in a list. Null too where it takes longer to find than in any honest reply.
 */
export function findCodeBlock(text: string, names: readonly string[] = []): string | null {
  return readWithin(() => findInBlocks(text, names))?.result ?? null;
}

function findInBlocks(text: string, names: readonly string[]): string | null {
  const blocks = fencedBlocks(text);
  const found = inBlocks(blocks, names) ?? beforeLoneFence(text, blocks, names) ?? marked(text);
  return found === null ? null : withoutBlankEnds(found);
}

/** The code of a reply, which is code as a whole where nothing in it is marked. */
export function extractCode(text: string, names: readonly string[] = []): string {
  return findCodeBlock(text, names) ?? withoutBlankEnds(text);
}

function marked(text: string): string | null {
  const end = text.indexOf(DONE);
  return end < 0 ? null : text.slice(0, end).replace(BEGIN, '');
}

/** What tests call, one of which the code has to define. */
export function calledIn(tests: readonly string[]): readonly string[] {
  return [...new Set(tests.flatMap((test) => [...test.matchAll(CALL)].map(([, name = '']) => name)))];
}

export function definesAtTop(code: string, name: string): boolean {
  return definitionOf(name).test(code);
}

export function definitionOf(name: string): RegExp {
  const word = name.replace(/[^\w]/g, '');
  return new RegExp(String.raw`^(?:async[ \t]+)?(?:def|class)[ \t]+${word}\b|^${word}[ \t]*=`, 'm');
}

function isPython({ language }: FencedBlock): boolean {
  return PYTHON.test(language);
}

function inBlocks(blocks: readonly FencedBlock[], names: readonly string[]): string | undefined {
  const closed = blocks.filter(({ isClosed }) => isClosed);
  const python = closed.filter(isPython);
  const block =
    definer(python, names) ??
    python[0] ??
    definer(closed, names) ??
    closed.at(-1) ??
    blocks.find((each) => isPython(each));
  return block?.code;
}

function definer(blocks: readonly FencedBlock[], names: readonly string[]): FencedBlock | undefined {
  return blocks.find(({ code }) => names.some((name) => definesAtTop(code, name)));
}

/** The reply began inside a block, as after a prompt that opens one. */
function beforeLoneFence(
  text: string,
  [only, ...others]: readonly FencedBlock[],
  names: readonly string[],
): string | undefined {
  if (only === undefined || others.length > 0 || only.isClosed || only.language !== '') return undefined;
  const before = text.slice(0, only.start);
  const isDefined = names.some((name) => definesAtTop(before, name));
  return isDefined || (CODE_LINE.test(before) && !CODE_LINE.test(only.code)) ? before : undefined;
}

/** Of a whole program: what all of its lines have in common, else that of its first line, as behind a mark that a blank follows. */
export function withoutIndentation(code: string): string {
  const indents = code
    .split('\n')
    .flatMap((line) => (line.trim() === '' ? [] : [/^[ \t]*/.exec(line)?.[0] ?? '']));
  const [first = ''] = indents;
  if (first === '') return code;
  if (!indents.every((indent) => indent.startsWith(first))) return code.replace(first, '');
  return code
    .split('\n')
    .map((line) => (line.startsWith(first) ? line.slice(first.length) : line))
    .join('\n');
}

/** Blank lines before and after; the first line keeps its indentation. */
function withoutBlankEnds(code: string): string {
  return code.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd();
}
