import { stripEnd } from '../../../core/strip-ends';
import type { AnswerShape, ExpressionShape, NumberShape } from './answer-shape';
import type { ExactPath, ExactQuestion } from './exact-path';
import type { ExactNumber } from './exact-number';
import { divideBy, isRoundingOf, isSameNumber, placesOfRounding } from './exact-number';
import { squeezed } from './squeezed';
import { areUnitsCompatible } from './units';

/** Numbers, words, signs of infinity and digits in a base are decided here; what must be calculated is asked. */
export async function compareScalars(
  given: AnswerShape,
  expected: AnswerShape,
  exact: ExactPath,
): Promise<boolean> {
  if (given.kind === 'number' && expected.kind === 'number') return areSameQuantities(given, expected);
  if (isQuantity(given) && isQuantity(expected)) return compareQuantities(given, expected, exact);
  // Where the answer is asked for in a base, it need not be named again.
  if (expected.kind === 'based' && given.kind === 'number') return digitsOf(given) === expected.digits;
  const [mine, theirs] = [signOf(given), signOf(expected)];
  return mine !== null && mine === theirs;
}

/** Null where it is no whole number. */
function digitsOf({ value, unit, isPercent }: NumberShape): string | null {
  return value.denominator === 1n && unit === null && !isPercent ? String(value.numerator) : null;
}

type QuantityShape = NumberShape | ExpressionShape;

function isQuantity(shape: AnswerShape): shape is QuantityShape {
  return shape.kind === 'number' || shape.kind === 'expression';
}

/**
 * 50% is 0.5, and as an answer to "what percentage" also 50. Below 1 a bare number is taken at its word: 0.5% is not 0.5.
 */
export function areSameQuantities(given: NumberShape, expected: NumberShape): boolean {
  if (!areMeasuredAlike(given, expected)) return false;
  const isSame =
    isSameNumber(given.value, expected.value) ||
    isRoundingOf(given, expected.value) ||
    isRoundingOf(expected, given.value);
  if (given.isPercent === expected.isPercent) return isSame;
  if (isSame && isAtLeastOne(given.value)) return true;
  const [percentage, plain] = given.isPercent ? [given, expected] : [expected, given];
  return isSameNumber(divideBy(percentage.value, 100n), plain.value);
}

/** A percent sign is a unit against another one. */
function areMeasuredAlike(given: QuantityShape, expected: QuantityShape): boolean {
  if (given.isPercent !== expected.isPercent) return given.unit === null && expected.unit === null;
  return areUnitsCompatible(given.unit, expected.unit);
}

function isAtLeastOne({ numerator, denominator }: ExactNumber): boolean {
  return (numerator < 0n ? -numerator : numerator) >= denominator || numerator === 0n;
}

async function compareQuantities(
  given: QuantityShape,
  expected: QuantityShape,
  exact: ExactPath,
): Promise<boolean> {
  if (!areMeasuredAlike(given, expected)) return false;
  const [mine, theirs] = [latexOf(given), latexOf(expected)];
  const isOneScale = given.isPercent === expected.isPercent;
  if (isOneScale && isSameFormula(mine, theirs)) return true;
  if (!isReadable(given) || !isReadable(expected)) return false;
  if (isOneScale) {
    return exact.areEqual(
      roundingQuestion(given, expected) ??
        roundingQuestion(expected, given) ?? { kind: 'value', given: mine, expected: theirs },
    );
  }
  return exact.areEqual({
    kind: 'value',
    given: ofOne(given, mine),
    expected: ofOne(expected, theirs),
  });
}

function ofOne({ isPercent }: QuantityShape, latex: string): string {
  return isPercent ? `\\frac{${latex}}{100}` : latex;
}

/** 4.123106 of \sqrt{17}; null where a formula has to be equal. */
function roundingQuestion(decimal: QuantityShape, exact: QuantityShape): ExactQuestion | null {
  const places = decimal.kind === 'number' ? placesOfRounding(decimal) : null;
  if (places === null) return null;
  return { kind: 'rounding', given: latexOf(decimal), expected: latexOf(exact), places };
}

function isReadable(shape: QuantityShape): boolean {
  return shape.kind === 'number' || shape.isReadable;
}

function latexOf(shape: QuantityShape): string {
  if (shape.kind === 'expression') return shape.latex;
  const { numerator, denominator } = shape.value;
  const size = String(numerator < 0n ? -numerator : numerator);
  const magnitude = denominator === 1n ? size : `\\frac{${size}}{${denominator}}`;
  return numerator < 0n ? `-${magnitude}` : magnitude;
}

/** The same characters; of single letters, as of options, the case does not count. */
function isSameFormula(given: string, expected: string): boolean {
  const [mine, theirs] = [given, expected].map((text) => squeezed(text));
  return mine === theirs || (mine?.length === 1 && mine.toLowerCase() === theirs?.toLowerCase());
}

/** What is the same only when its spelling is; null for what has a value. */
function signOf(shape: AnswerShape): string | null {
  if (shape.kind === 'infinity') return shape.isNegative ? '-infinity' : '+infinity';
  return shape.kind === 'based' ? `${shape.digits} in base ${shape.base}` : wordsOf(shape);
}

function wordsOf(shape: AnswerShape): string | null {
  if (shape.kind !== 'text' && shape.kind !== 'expression') return null;
  const text = shape.kind === 'text' ? shape.text : shape.latex;
  const spoken = text
    .replace(/\\text\s*\{([^{}]*)\}/g, ' $1 ')
    .replace(/["'“”‘’]/g, '')
    .replace(/\s+/g, ' ')
    .replace(/^[\s(]+/, '')
    .toLowerCase();
  const words = stripEnd(spoken, ' ).,;:!');
  return /[a-z]/.test(words) ? squeezed(words) : null;
}
