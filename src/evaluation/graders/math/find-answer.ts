import { endsInOpenBox, findBoxes, isSpokenOf } from '../boxed';
import type { FormulaSpan as Segment } from './formula-spans';
import { formulaSpans } from './formula-spans';
import { isLabel } from './labels';

const ANSWER_WORDS = /\banswer(?:\s+is)?\s*(?:[:=]|\bis\b|(?<=is))\s*:?\s*/gi;
const ENVIRONMENT = /\\(?:begin|end)\s*\{\w+\}(?:\{[a-z|]*\})?/g;
const NUMBER = /(?<![\w.])-?\$?\d[\d,]*(?:\.\d+)?(?:\s?\/\s?\d+)?/g;
const FINAL_WORDS = /\bfinal\s+answer\s*(?:is\b|:)\s*:?[\s*]*/gi;
/** Nothing but a number behind "final answer is". */
const LONE_NUMBER = /^(-?\d[\d,]*(?:\.\d+)?)[*\s]*(?:$|\.(?:\s|$)|\n)/;
/** "Total: 5" */
const LABEL = /^(\p{L}[\p{L} ]{2,40}):\s+(?=\S)/u;
/** "2,74 € in all": the number with which a text without further ones begins. */
const PRICE = /^(-?\d[\d.,]*)\s?[$€£¥](?:\s\D*)?$/;
/** What may stand between answers that belong together; a run of signs is a line drawn between them. */
const SEPARATORS =
  /\\(?:text\s*\{\s*(?:and|or)\s*\}|quad|qquad|[,;: ])|\b(?:and|or)\b|[\s$,;]|\\[()[\]]|([-+=*_~])\1{2,}|\\$/gi;
/** Between boxes also what is counted, in which part, and the name of what follows: "papers and", "for part (a) and", "and y =". */
const CONJUNCTION =
  /^(?:(?!(?:is|are|was|not|no|wrong|incorrect|then|than|but|wait|instead|rather)\b)(?:[a-z]{2,12}|\([a-z\d]\))\s+){0,4}\(?(?:and|or)(?:\s+(?:maybe|perhaps|possibly|even))?\s*(?:[a-z](?:_(?:\w|\{\w{1,3}\}))?\s*=)?$/i;
/** What makes another statement of the number behind it. */
const COMPARATIVE =
  /\b(?:(?:no|not)\s+)?(?:at\s+(?:least|most)|(?:more|less|fewer|greater|larger|smaller|higher|lower)\s+than(?:\s+or\s+equal\s+to)?|up\s+to|between\s+\S{1,40}\s+and|not|never|except|twice|half)\s+$/i;
const LONGEST_BARE_TEXT = 300;
/** What is longer is prose. */
const TEXT = /\\text\s*\{[^}]{0,500}\}/g;
const WORDS_OF_PROSE = 4;

/**
 * The part of a text that is its answer, the same for responses and references: a formula or number that "final answer is" announces behind the
 * last `\boxed{}`; else the last `\boxed{}` but for those that a sentence only speaks of, none where that is never closed; else what follows
 * the last "answer is" or "answer:", else the last formula in `$…$`, `\(…\)` or `\[…\]`, else a bare expression or text as a whole, else
 * the last number of a longer text. Boxes and formulas that only "and", "or" or commas separate are one answer. Null where
 * there is none.
 */
export function findAnswer(text: string): string | null {
  const found = fromBoxes(text) ?? fromAnswerWords(text) ?? fromFormulas(text) ?? fromBareText(text);
  return found === null || found.trim() === '' ? null : found.trim();
}

/** What stands in the last boxes of a text, as `findAnswer` takes it; null where it has none. */
export function fromBoxes(text: string): string | null {
  if (endsInOpenBox(text)) return '';
  const boxes = findBoxes(text).filter((box) => !isSpokenOf(text, box));
  const last = boxes.at(-1);
  return last ? (fromFinalWords(text.slice(last.end)) ?? joinLast(text, boxes, areBoxesJoined)) : null;
}

/** Only what is surely an answer: a formula, or a number and nothing else. */
function fromFinalWords(text: string): string | null {
  const last = [...text.matchAll(FINAL_WORDS)].at(-1);
  if (!last) return null;
  const rest = text.slice(last.index + last[0].length);
  const formulas = formulasOf(rest);
  return formulas[0]?.start === 0 ? joinFirst(rest, formulas) : (LONE_NUMBER.exec(rest)?.[1] ?? null);
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
  const bare = text
    .trim()
    .replace(/(?<![\w)}\]])\*\*([^*]+)\*\*(?!\w)/g, '$1')
    .replace(/^(?:thus|so|hence|therefore|then|finally)\b,?\s+(?=\S)/i, '')
    .replace(LABEL, (label, words: string) => (isLabel(words) ? '' : label));
  const price = PRICE.exec(bare)?.[1];
  if (price !== undefined) return price;
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

function joinLast(text: string, segments: readonly Segment[], areJoined = isJoined): string | null {
  let first = segments.length - 1;
  while (first > 0 && areJoined(text, segments[first - 1], segments[first])) first--;
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
  return isNear(between) && between.replace(SEPARATORS, '') === '';
}

function areBoxesJoined(text: string, left: Segment | undefined, right: Segment | undefined): boolean {
  if (isJoined(text, left, right)) return true;
  if (!left || !right || right.start < left.end) return false;
  const between = text.slice(left.end, right.start);
  return isNear(between) && CONJUNCTION.test(wordsOf(between));
}

function isNear(between: string): boolean {
  return between.length <= 40 && !between.includes('\n\n');
}

function wordsOf(between: string): string {
  return between
    .replace(/\\text\s*\{([^{}]*)\}/g, ' $1 ')
    .replace(/\$|\\(?:quad|qquad|[,;: ]|[()[\]])|\s+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
