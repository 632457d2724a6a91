import { findBoxes } from '../boxed';
import { firstNumber, lastNumber } from './number-text';

/**
 * The number a completion gives as its answer, or null.
 *
 * In this order: right behind the first `####` that a number follows (the official marker; `#### Step 1` and `#### 1. Add` are headings); on a line
 * "A: 18" (the marker of the published solutions); in the first `\boxed{…}` (none where it holds several numbers or something to calculate); behind the first "answer is" or "answer:"; behind
 * `####` on the last line, whatever stands between; in the last **bold** text; else the last number. A marker without a number is
 * passed over. The first marker counts, as in the official script, because what a base model writes behind its answer is the next
 * question.
 */
export function gsm8kAnswer(completion: string): string | null {
  for (const read of [afterHashes, onAnswerLine, inBox, afterPhrase, onLastLine, inBold]) {
    const answer = read(completion);
    if (answer !== null) return answer === NO_NUMBER ? null : answer;
  }
  return lastNumber(completion)?.value ?? null;
}

/** An answer is given that is no number. */
const NO_NUMBER = Symbol('no number');
type Found = string | typeof NO_NUMBER | null;

/** The reference behind the last `####` of a worked answer; without one it is read as a completion is. */
export function gsm8kReference(answer: string): string | null {
  const parts = answer.split('####');
  return parts.length === 1 ? gsm8kAnswer(answer) : readNumber(parts.at(-1) ?? '');
}

const HASHES = /####([^\n]{0,300})/g;

function afterHashes(completion: string): string | null {
  for (const [, rest = ''] of completion.matchAll(HASHES)) {
    const tidy = withoutMarkup(rest);
    const number = firstNumber(tidy);
    if (number?.start === 0 && !HEADING.test(tidy.slice(number.end))) return readNumber(tidy);
  }
  return null;
}

/** Behind the number of a heading: "#### 2. Compute". */
const HEADING = /^[.)]\s+[\p{L}*]/u;

function onLastLine(completion: string): string | null {
  const rest = /####([^\n]{0,300})$/.exec(completion.trimEnd())?.[1];
  return rest === undefined ? null : readNumber(rest);
}

function inBox(completion: string): Found {
  for (const { content } of findBoxes(completion)) {
    const number = readNumber(content.slice(0, 1000));
    if (number !== null) return isOneNumber(content.slice(0, 1000)) ? number : NO_NUMBER;
  }
  return null;
}

/** Behind a number: another one ("18, 19", "18 or 19"), or what is to be done with it ("9 \\times 2", "9^2", "9!"). */
const GOES_ON =
  /^\s*(?:[-+*/×÷·]\s*[\d\\(√]|\^|!|\\(?:times|cdot|div|pm|sqrt)|(?:[,;]|or\b|and\b)[\s}]*-?[$\d])/;
/** Before it: something of which it is a part. */
const BEGUN = /\\(?:sqrt|binom|log|ln|pm|overline)|[√^]|\b(?:not|between|than)\b/;

function isOneNumber(content: string): boolean {
  const tidy = withoutMarkup(content);
  const value = tidy.slice(tidy.lastIndexOf('=') + 1);
  const number = firstNumber(value);
  if (number === null) return true;
  return !GOES_ON.test(value.slice(number.end)) && !BEGUN.test(value.slice(0, number.start));
}

const PHRASE = /\banswer\s{0,4}(?:is|:|=)/gi;

function afterPhrase(completion: string): string | null {
  for (const match of completion.matchAll(PHRASE)) {
    const start = match.index + match[0].length;
    const number = inSentence(completion.slice(start, start + 200));
    if (number !== null) return number;
  }
  return null;
}

/** "5 + 3 = 8" answers 8; "5, since 2 + 3 = 5" answers 5. */
function inSentence(text: string): string | null {
  const sentence = /^[^\n]*?(?=[.!?](?:\s|$)|\n|$)/.exec(text.trimStart())?.[0] ?? '';
  const tidy = withoutMarkup(sentence);
  const first = firstNumber(tidy);
  if (first === null) return null;
  const isTerm = /^\s*(?:[-+*/×÷−–]|\\times|x)\s*[\d$(]/.test(tidy.slice(first.end, first.end + 20));
  const equals = tidy.lastIndexOf('=');
  if (!isTerm || equals < first.end) return first.value;
  return firstNumber(tidy.slice(equals + 1))?.value ?? first.value;
}

const ANSWER_LINE = /^[ \t]{0,8}A:[ \t]{0,8}([^\n]{1,60})$/gm;

function onAnswerLine(completion: string): string | null {
  for (const [, rest = ''] of completion.matchAll(ANSWER_LINE)) {
    const number = firstNumber(withoutMarkup(rest));
    if (number?.start === 0 && !/[\d=]/.test(withoutMarkup(rest).slice(number.end))) return number.value;
  }
  return null;
}

/** Bold text that begins with a number: a bold heading such as "**Step 1**" is no answer. */
function inBold(completion: string): string | null {
  let answer: string | null = null;
  for (const [, text = ''] of completion.matchAll(/\*\*([^*\n]{1,60})\*\*/g)) {
    const tidy = withoutMarkup(text);
    const number = firstNumber(tidy);
    if (number?.start === 0 && !/^\s?[.)]\s/.test(tidy.slice(number.end))) answer = number.value;
  }
  return answer;
}

/** The first number, or the one behind an equals sign: "x = 5" is 5. */
function readNumber(text: string): string | null {
  const tidy = withoutMarkup(text);
  return (firstNumber(tidy.slice(tidy.lastIndexOf('=') + 1)) ?? firstNumber(tidy))?.value ?? null;
}

/** LaTeX and Markdown around a number, and spaces between groups of three digits. */
function withoutMarkup(text: string): string {
  return text
    .replaceAll('{,}', ',')
    .replace(/\\(?:text|mathrm|mathbf|textbf)\{/g, ' ')
    .replace(/\\[,!;:]|\\[()[\]]|[*_`~]/g, '')
    .replace(/(?<=\d) (?=\d{3}(?:\D|$))/g, '')
    .trim();
}
