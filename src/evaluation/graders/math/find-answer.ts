import type { Box } from '../boxed';
import { endsInOpenBox, findBoxes } from '../boxed';
import type { FormulaSpan as Segment } from './formula-spans';
import { formulaSpans } from './formula-spans';

const ANSWER_WORDS = /\banswer(?:\s+is)?\s*(?:[:=]|\bis\b|(?<=is))\s*:?\s*/gi;
const ENVIRONMENT = /\\(?:begin|end)\s*\{\w+\}(?:\{[a-z|]*\})?/g;
const NUMBER = /(?<![\w.])-?\$?\d[\d,]*(?:\.\d+)?(?:\s?\/\s?\d+)?/g;
/** What may stand between answers that belong together. */
const SEPARATORS = /\\(?:text\s*\{\s*(?:and|or)\s*\}|quad|qquad|[,;: ])|\b(?:and|or)\b|[\s$,;]|\\[()[\]]/gi;
/** What makes another statement of the number behind it. */
const COMPARATIVE =
  /\b(?:(?:no|not)\s+)?(?:at\s+(?:least|most)|(?:more|less|fewer|greater|larger|smaller|higher|lower)\s+than(?:\s+or\s+equal\s+to)?|up\s+to|between\s+\S{1,40}\s+and)\s+$/i;
const LONGEST_BARE_TEXT = 300;
/** What is longer is prose. */
const TEXT = /\\text\s*\{[^}]{0,500}\}/g;
const WORDS_OF_PROSE = 4;

/**
 * The part of a text that is its answer, the same for responses and references: the last `\boxed{}`, none where that is never closed; else what follows
 * the last "answer is" or "answer:", else the last formula in `$…$`, `\(…\)` or `\[…\]`, else a bare expression or text as a whole, else
 * the last number of a longer text. Boxes and formulas that only "and", "or" or commas separate are one answer. Null where
 * there is none.
 */
export function findAnswer(text: string): string | null {
  const found = fromBoxes(text) ?? fromAnswerWords(text) ?? fromFormulas(text) ?? fromBareText(text);
  return found === null || found.trim() === '' ? null : found.trim();
}

function fromBoxes(text: string): string | null {
  const boxes = findBoxes(text);
  if (boxes.length === 0) return null;
  if (endsInOpenBox(text)) return '';
  return joinLast(
    text,
    boxes.map((box: Box) => ({
      content: box.content,
      start: box.start,
      end: text.indexOf(box.content, box.start) + box.content.length + 1,
    })),
  );
}

function fromAnswerWords(text: string): string | null {
  const last = [...text.matchAll(ANSWER_WORDS)].at(-1);
  if (!last) return null;
  const rest = text
    .slice(last.index + last[0].length)
    .trimStart()
    .replace(/^\*\*|^[:=]\s*/, '');
  const formulas = formulasOf(rest);
  if (formulas[0]?.start === 0) return joinFirst(rest, formulas);
  const sentence = /^[^\n]*?(?=\.(?:\s|$)|\n|$)/.exec(rest)?.[0] ?? '';
  const bare = sentence.replaceAll('**', '').trim();
  return bare === '' ? null : (fromFormulas(bare) ?? fromBareText(bare));
}

function fromFormulas(text: string): string | null {
  const formulas = formulasOf(text);
  const last = formulas.at(-1);
  if (!last) return null;
  const tail = text.slice(last.end);
  // "… the largest $n$ is 34." and "$$…$$ Therefore the error grows by 100%."
  const isOnlyNamed = !last.content.includes('=') && /^\s*(?:is|are|equals|=)\s/.test(tail);
  const number = isOnlyNamed || wordCount(tail) >= WORDS_OF_PROSE ? lastNumber(tail) : null;
  return number ?? comparativeBefore(text, last.start) + (joinLast(text, formulas) ?? '');
}

function fromBareText(text: string): string | null {
  const bare = text.trim().replace(/^\*\*([^*]+)\*\*$/, '$1');
  const words = wordCount(bare);
  const isProse = words >= WORDS_OF_PROSE || (words > 1 && /^[a-zA-Z]{2}/.test(bare));
  if (isProse) return lastNumber(bare) ?? (bare.length <= LONGEST_BARE_TEXT ? bare : null);
  return bare.includes('\n\n') ? (lastNumber(bare) ?? bare) : bare;
}

function lastNumber(text: string): string | null {
  const last = [...text.matchAll(NUMBER)].at(-1);
  return last ? comparativeBefore(text, last.index) + withoutCommasBehind(last[0]) : null;
}

function comparativeBefore(text: string, index: number): string {
  const found = COMPARATIVE.exec(text.slice(Math.max(0, index - 80), index))?.[0] ?? '';
  return found.toLowerCase();
}

function withoutCommasBehind(number: string): string {
  let end = number.length;
  while (number[end - 1] === ',') end--;
  return number.slice(0, end);
}

/** Dollars of prices also come in pairs: what reads as a sentence is no formula. */
function formulasOf(text: string): readonly Segment[] {
  return [...formulaSpans(text)].filter(
    ({ content }) => content.trim() !== '' && wordCount(content.replace(TEXT, '')) < 3,
  );
}

/** Words outside of commands. */
function wordCount(text: string): number {
  return text.replace(ENVIRONMENT, '').match(/(?<![\\a-zA-Z])[a-zA-Z]{2,}/g)?.length ?? 0;
}

function joinLast(text: string, segments: readonly Segment[]): string | null {
  let first = segments.length - 1;
  while (first > 0 && isJoined(text, segments[first - 1], segments[first])) first--;
  return joined(segments.slice(first));
}

function joinFirst(text: string, segments: readonly Segment[]): string | null {
  let last = 0;
  while (isJoined(text, segments[last], segments[last + 1])) last++;
  return joined(segments.slice(0, last + 1));
}

function joined(segments: readonly Segment[]): string {
  return [...new Set(segments.map(({ content }) => content.trim()))].join(', ');
}

function isJoined(text: string, left: Segment | undefined, right: Segment | undefined): boolean {
  if (!left || !right || right.start < left.end) return false;
  const between = text.slice(left.end, right.start);
  return between.length <= 40 && !between.includes('\n\n') && between.replace(SEPARATORS, '') === '';
}
