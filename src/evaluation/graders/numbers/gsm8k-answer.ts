import type { Box } from '../boxed';
import { findBoxes } from '../boxed';
import { withPlainDigits } from './full-width';
import { areEqualNumbers, firstNumber, lastNumber } from './number-text';

/**
 * The number a completion gives as its answer, or null.
 *
 * In this order: right behind the first `####` that a number follows (the official marker; `#### Step 1` and `#### 1. Add` are headings); on a line
 * "A: 18" (the marker of the published solutions); in the first `\boxed{…}` (none where it holds several numbers or something to calculate, or "or" and another box follow); behind the first "answer is" or "answer:"; behind
 * `####` on the last line, whatever stands between; in the last **bold** text; else the last number. A marker without a number is
 * passed over. The first marker counts, as in the official script, because what a base model writes behind its answer is the next
 * question.
 */
export function gsm8kAnswer(written: string): string | null {
  const completion = withPlainDigits(written);
  for (const read of [afterHashes, onAnswerLine, inBox, afterPhrase, onLastLine, inBold]) {
    const answer = read(completion);
    if (answer !== null) return answer === NO_NUMBER ? null : answer;
  }
  const text = completion.replace(POWER_OF_UNIT, '');
  const last = lastNumber(text);
  return last === null || NO_ANSWER.test(text.slice(Math.max(0, last.start - 20), last.start))
    ? null
    : last.value;
}

/** "5 m^2", "5 \\text{ m}^2" */
const POWER_OF_UNIT = /(?<=[A-Za-z]\}?)\^(?:\{\d\}|\d)(?!\d)/g;

/** An answer is given that is no number. */
const NO_NUMBER = Symbol('no number');
type Found = string | typeof NO_NUMBER | null;

/** The reference behind the last `####` of a worked answer; without one it is read as a completion is. */
export function gsm8kReference(answer: string): string | null {
  const parts = withPlainDigits(answer).split('####');
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
  return rest === undefined || isDenied(withoutMarkup(rest)) ? null : readNumber(rest);
}

function inBox(completion: string): Found {
  const boxes = findBoxes(completion);
  for (const [index, box] of boxes.entries()) {
    const content = box.content.slice(0, 1000);
    const number = readNumber(content);
    if (number === null) continue;
    const next = boxes[index + 1];
    const isHedged = next !== undefined && areAlternatives(completion, [box, next]);
    return isOneNumber(content) && !isHedged ? number : NO_NUMBER;
  }
  return null;
}

/** Between two boxes that are one answer. */
const ALTERNATIVE =
  /^[\s$.)\\\]}*,]{0,9}(?:,|\b(?:or|and)\b|\\text\s?\{\s?(?:or|and)\s?\})(?:\s{0,3}(?:maybe|perhaps|possibly)\b)?[\s$(\\[*]{0,9}$/;

/** "\boxed{18} or \boxed{19}" chooses none, as "\boxed{18 or 19}" does. */
function areAlternatives(completion: string, [first, second]: readonly [Box, Box]): boolean {
  const end = completion.indexOf(first.content, first.start) + first.content.length + 1;
  if (!ALTERNATIVE.test(completion.slice(end, second.start).slice(0, 60))) return false;
  const [mine, theirs] = [readNumber(first.content), readNumber(second.content)];
  return mine !== null && theirs !== null && !areEqualNumbers(mine, theirs);
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

const PHRASE = /\banswer\s{0,4}(?:is|:|=)|^#{1,4}[ \t]{0,4}(?:final\s)?answer[ \t]*\n/gim;

function afterPhrase(completion: string): Found {
  let found: Found = null;
  for (const match of completion.matchAll(PHRASE)) {
    const start = match.index + match[0].length;
    const number = inSentence(completion.slice(start, start + 200));
    if (typeof number === 'string') return number;
    found ??= number;
  }
  return found;
}

/** Of two numbers none is chosen: "18 or 19", "between 18 and 20". */
const ANOTHER = /^\s*(?:or|to)\s(?:(?:maybe|perhaps|possibly)\s)?[\s}]*-?[$\d]/;
const BOUNDED = /\b(?:between|(?:less|more|fewer|greater|other|rather)\sthan)\s[\s$\\(]*$/;
/** "The answer is not 17", "isn't 17" */
const DENIED = /(?:\bnot|n['’]t)\s[\s$\\(]*$/;

/** Also the exponent of what is to be calculated: "3 \\times 10^3". */
const NO_ANSWER = new RegExp(String.raw`${DENIED.source}|\^\{?\s*$`);

/** "5 + 3 = 8" answers 8; "5, since 2 + 3 = 5" answers 5; "5 + 3" is still to be calculated. */
function inSentence(text: string): Found {
  const sentence = /^[^\n]*?(?=[.!?](?:\s|$)|\n|$)/.exec(text.trimStart())?.[0] ?? '';
  const tidy = withoutMarkup(sentence);
  const first = firstNumber(tidy);
  if (first === null) return null;
  const [before, behind] = [tidy.slice(0, first.start), tidy.slice(first.end)];
  if (DENIED.test(before)) return null;
  if (ANOTHER.test(behind) || BOUNDED.test(before)) return NO_NUMBER;
  return /^\s*(?:[-+*/×÷−–=^]|\\times|\\cdot|x)\s*[\d$(\-]/.test(behind.slice(0, 20))
    ? calculated(behind)
    : first.value;
}

function isDenied(text: string): boolean {
  return DENIED.test(text.slice(0, firstNumber(text)?.start ?? 0));
}

function calculated(behind: string): string | null {
  const equals = behind.lastIndexOf('=');
  return equals < 0 ? null : (firstNumber(behind.slice(equals + 1))?.value ?? null);
}

const ANSWER_LINE = /^[ \t]{0,8}A:[ \t]{0,8}([^\n]{1,60})$/gm;

function onAnswerLine(completion: string): string | null {
  for (const [, rest = ''] of completion.matchAll(ANSWER_LINE)) {
    const number = firstNumber(withoutMarkup(rest));
    if (number?.start === 0 && !/[\d=]/.test(withoutMarkup(rest).slice(number.end))) return number.value;
  }
  return null;
}

const BOLD = /\*\*([^*\n]{1,60})\*\*/g;
/** Of "**5** and **6**" the last counts, as of several in bold everywhere. */
const OR_IN_BOLD = /^[\s$.)]{0,4}\bor\b(?:\s{0,3}(?:maybe|perhaps|possibly)\b)?[\s$(]{0,4}$/;
/** What a bold text at the head of an item of a list stands behind. */
const HEAD_OF_ITEM = /(?:^|\n)[ \t]{0,12}(?:\d{1,3}[.)]|[-*•+])[ \t]{1,4}$/;

/** Bold text that begins with a number: a bold heading such as "**Step 1**" is no answer, nor is the label of a step ("**3 times a week**: …"). */
function inBold(completion: string): Found {
  let answer: Found = null;
  let end = 0;
  for (const { 0: all, 1: text = '', index } of completion.matchAll(BOLD)) {
    const tidy = withoutMarkup(text);
    const number = firstNumber(tidy);
    const isAnswer = number?.start === 0 && !/^\s?[.)]\s/.test(tidy.slice(number.end));
    if (isAnswer && !isLabel(completion, { text, start: index, end: index + all.length })) {
      const isOther: boolean =
        OR_IN_BOLD.test(completion.slice(end, index).slice(-60)) && isHedge(answer, number.value);
      answer = isOther ? NO_NUMBER : number.value;
      end = index + all.length;
    }
  }
  return answer;
}

/** Of alternatives that differ none is chosen. */
function isHedge(answer: Found, other: string): boolean {
  return answer === NO_NUMBER || (answer !== null && !areEqualNumbers(answer, other));
}

interface Bold {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A colon follows, in the bold text or behind it, or it is the head of an item and more follows on the line. */
function isLabel(completion: string, { text, start, end }: Bold): boolean {
  const behind = completion.slice(end, end + 60);
  if (/:\s*$/.test(text) || /^\s{0,2}:/.test(behind)) return true;
  return (
    HEAD_OF_ITEM.test(completion.slice(Math.max(0, start - 24), start)) && /^[^\S\n]*[^\s.!]/.test(behind)
  );
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
    .replace(/\\[,!;:]|\\[()[\]]|[_`~]|(?<!\d\s{0,2})\*|\*(?!\s{0,2}[\d$(])/g, '')
    .replace(/(?<=\d) (?=\d{3}(?:\D|$))/g, '')
    .trim();
}
