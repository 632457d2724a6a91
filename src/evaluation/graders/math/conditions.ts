import { readNumber } from './exact-number';
import { isLabel } from './labels';

/** "n = 1", "n is 1" */
const FIXED = /(?<![\\a-zA-Z])(\\[a-zA-Z]+|[a-zA-Z])(?:_\w)?\s*(?:=|\b(?:is|equals|be)\b(?=\s*[-+]?\d))/g;
const DOTS = /\.{3}|\\[lc]?dots/;
const NUMBER = String.raw`[-+]?\d+(?:\.\d+)?`;
const CLAIM = new RegExp(
  String.raw`(?<![-+*/^)=<>]\s*)(?<![\w.])(${NUMBER})\s*(=|<|>|\\leq?(?![a-zA-Z])|\\geq?(?![a-zA-Z])|\\neq?(?![a-zA-Z]))\s*(${NUMBER})(?![\w.]|\s*[-+*/^(\\])`,
  'g',
);
/** In which measure the answer is meant. */
const MEASURE = /\b(?:ten|hundred|thousand|million|billion|trillion|dozen|percent|base|mod|modulo)s?\b/i;

/**
 * Whether an answer is the same without the condition or reason behind it: not where this fixes a variable of the answer ("2n for n = 1"), is
 * false ("5, where 5 = 6"), takes the answer back or says in which measure it is meant.
 */
export function isHarmless(condition: string, answer: string): boolean {
  const words = condition.replace(/\\text|[{}]/g, ' ');
  if (MEASURE.test(words) || isTakenBack(words)) return false;
  const isFixing = [...words.matchAll(FIXED)].some(([, name = '']) => occurs(name, answer));
  if (isFixing && !DOTS.test(words)) return false;
  return [...words.matchAll(CLAIM)].every(([, left = '', sign = '', right = '']) => holds(left, sign, right));
}

/** A remark in brackets is no condition, in which "not" and "less than" are of other things. */
function isTakenBack(words: string): boolean {
  const remark = /^\s*\((.*)\)\s*$/.exec(words)?.[1];
  return remark !== undefined && !isLabel(remark);
}

function occurs(name: string, answer: string): boolean {
  if (name.startsWith('\\')) return answer.includes(name);
  return answer.replace(/\\text\s*\{[^{}]*\}|\\[a-zA-Z]+/g, ' ').includes(name);
}

function holds(left: string, sign: string, right: string): boolean {
  const [mine, theirs] = [readNumber(left), readNumber(right)];
  if (!mine || !theirs) return true;
  const difference = mine.numerator * theirs.denominator - theirs.numerator * mine.denominator;
  if (difference === 0n) return !/^(?:[<>]|\\neq?)$/.test(sign);
  if (sign === '=') return false;
  return sign.startsWith('\\ne') || difference < 0n === /^(?:<|\\leq?)$/.test(sign);
}
