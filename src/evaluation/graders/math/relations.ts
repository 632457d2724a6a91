import { ownValue } from '../../../core/own-value';
import type { AnswerShape, NumberShape, RelationShape, TupleShape } from './answer-shape';
import { isRoundingOf, isSameNumber } from './exact-number';
import { isLabel } from './labels';
import { readShape } from './read-shape';
import { squeezed } from './squeezed';

/** "x = 5": what is named, where it is a name, and its value. */
export interface Assignment {
  readonly name: string | null;
  readonly value: string;
  /** "x \approx 5" */
  readonly isApproximate: boolean;
  /** The other side of "2 + 3 = 5", where nothing is named. */
  readonly claim?: string;
}

const NAME = String.raw`(?:\\text\s?\{[^{}]{1,40}\}|\\[a-zA-Z]+|[a-zA-Z])(?:_(?:\w|\{[^{}]*\}))?'*`;
const SEGMENT = String.raw`[A-Z]{2,4}`;
const ANGLE = String.raw`m?\\(?:angle|measuredangle) ?(?:[A-Z]{1,4}|\{[A-Z]{1,4}\}|[a-z](?![a-zA-Z])|\\[a-zA-Z]+|\d)`;
const FUNCTION = String.raw`\\(?:det|dim|deg|sin|cos|tan|cot|sec|csc) ?(?!\\pi|[ei](?![a-zA-Z]))(?:[a-zA-Z]|\\[a-zA-Z]+)`;
const QUANTITY = new RegExp(
  `^(?:${[
    NAME,
    `${NAME}\\s?\\([^()]*\\)`,
    `\\|?${SEGMENT}\\|?`,
    `\\\\overline\\{${SEGMENT}\\}`,
    ANGLE,
    FUNCTION,
    // The area of a figure
    String.raw`\[(?:\\triangle ?)?[A-Z]{3,6}\]`,
    `\\\\frac\\{${SEGMENT}\\}\\{${SEGMENT}\\}`,
    `${SEGMENT}/${SEGMENT}`,
    `\\(\\s*${NAME}(?:\\s*,\\s*${NAME})*\\s*\\)`,
  ].join('|')})$`,
);
/** What problems ask for of several quantities: "a + b + c", "f(1) - f(0)". Not "xy" or "x + 1", which equations have on a side. */
const LETTER = String.raw`(?:[a-zA-Z]|\\(?:alpha|beta|gamma|delta|theta|phi))(?:_(?:\w|\{\w{1,3}\}))?`;
const VALUE = String.raw`[a-zA-Z]\((?:[-+]?[\d./]{1,9}|\\infty)\)`;
const SUM = new RegExp(
  `^(?:(?:${LETTER}|${SEGMENT})(?: ?\\+ ?(?:${LETTER}|${SEGMENT})){1,9}|${VALUE}(?: ?[-+] ?${VALUE}){1,9})$`,
);
const RATIO_OF_QUANTITIES = new RegExp(`^(?:${NAME}|${SEGMENT}):(?:${NAME}|${SEGMENT})$`);
const NAMING_TEXT = /^\\text\s?\{/;
const CONSTANT_NAME = /^(?:\\pi|e|i|\\infty)$/;
const SWAPPED: Readonly<Record<string, string>> = { '<': '>', '>': '<', '\\le': '\\ge', '\\ge': '\\le' };

/** The value a relation gives to a quantity, to be compared with a bare value; null for equations and inequalities. */
export function assignmentOf(shape: AnswerShape): Assignment | null {
  if (shape.kind !== 'relation') return null;
  const assignment = exactAssignmentOf(withoutApproximations(shape));
  return assignment && { ...assignment, isApproximate: isApproximation(shape) };
}

/**
 * The value of a sum that a problem may ask for ("a + b = 42"), where the reference is a number; null for everything else. Against an
 * equation, or in a list of them, it is an equation itself.
 */
export function valueOfSum(given: AnswerShape, expected: AnswerShape): string | null {
  if (given.kind !== 'relation' || !isCalculatedNumber(expected)) return null;
  const { sides, operators } = given;
  const [sum = '', ...values] = sides;
  if (!isSum(sum) || operators.some((operator) => operator !== '=')) return null;
  return values.includes('') || !values.every(isConstant) || areNumbersDifferent(values)
    ? null
    : (values.at(-1) ?? null);
}

function isSum(text: string): boolean {
  return SUM.test(text) && !text.split(/[-+]/).some((term) => CONSTANT_NAME.test(term.trim()));
}

function isCalculatedNumber(shape: AnswerShape): boolean {
  return shape.kind === 'number' || (shape.kind === 'expression' && isConstant(shape.latex));
}

function exactAssignmentOf(relation: RelationShape): Omit<Assignment, 'isApproximate'> | null {
  const first = relation.sides[0] ?? '';
  const last = relation.sides.at(-1) ?? '';
  if (relation.sides.length === 1) return { name: null, value: first };
  if (!relation.operators.every((operator) => operator === '=' || operator === '\\in')) return null;
  if (relation.sides.includes('') || isNamedTwice(relation)) return null;
  if (areNumbersDifferent(relation.sides.slice(1))) return null;
  if (isQuantity(first)) return { name: nameOf(first), value: last };
  return isConstant(first) ? assignmentBehind(first, last) : null;
}

/** "5 = x", "2 + 3 = 5" */
function assignmentBehind(first: string, last: string): Omit<Assignment, 'isApproximate'> | null {
  if (isQuantity(last)) return { name: nameOf(last), value: first };
  return isConstant(last) ? { name: null, value: last, claim: first } : null;
}

/** "x = 5 = 6" says nothing. Where something is calculated on the way to a value, a slip in it is none of the value. */
function areNumbersDifferent(sides: readonly string[]): boolean {
  const shapes = sides.map((side) => readShape(side));
  const numbers = shapes.filter((shape) => shape.kind === 'number');
  const [first] = numbers;
  if (first === undefined || numbers.length < shapes.length) return false;
  return numbers.some((each) => !areSameNumbers(first, each));
}

function areSameNumbers(left: NumberShape, right: NumberShape): boolean {
  if (left.unit !== right.unit || left.isPercent !== right.isPercent) return true;
  return (
    isSameNumber(left.value, right.value) ||
    isRoundingOf(left, right.value) ||
    isRoundingOf(right, left.value)
  );
}

/** "a = 5 = b": the value stands between the names. */
function isNamedTwice({ sides }: RelationShape): boolean {
  return !isConstant(sides.at(-1) ?? '') && sides.slice(1, -1).some((side) => isConstant(side));
}

/** What is written behind "approximately" is not exact; alone ("x \approx 5") it is all there is. */
function withoutApproximations(shape: RelationShape): RelationShape {
  const at = shape.operators.indexOf('\\approx');
  if (at < 0) return shape;
  const isAllThereIs = isApproximation(shape);
  const operators = isAllThereIs
    ? shape.operators.map((each) => (each === '\\approx' ? '=' : each))
    : shape.operators.slice(0, at);
  return { ...shape, operators, sides: isAllThereIs ? shape.sides : shape.sides.slice(0, at + 1) };
}

function isApproximation({ operators, sides: [first = ''] }: RelationShape): boolean {
  return operators[0] === '\\approx' && (first === '' || isQuantity(first));
}

/** The measure of an angle is written with its m or without. */
function nameOf(quantity: string): string {
  return squeezed(quantity).replace(/^m(?=\\(?:measured)?angle)/, '');
}

function isQuantity(text: string): boolean {
  if (NAMING_TEXT.test(text) && !isLabel(text.replace(/\\text|[{}]/g, ' '))) return false;
  // A function of numbers is a calculation.
  if (text.includes('(') && isConstant(text)) return false;
  return RATIO_OF_QUANTITIES.test(text) || (QUANTITY.test(text) && !CONSTANT_NAME.test(text));
}

/** Calculated from numbers only: the first side of "2 + 3 = 5". */
function isConstant(text: string): boolean {
  const bare = text.replace(
    /\\(?:frac|sqrt|cdot|pi|binom|log|ln|(?:arc)?(?:sin|cos|tan)|cot|sec|csc|gcd|lcm|max|min|infty)(?![a-zA-Z])/g,
    '',
  );
  return !/[a-zA-Z]/.test(bare);
}

/** The interval that an inequality for one variable describes: "x > 3", "-2 \le x < 7". */
export function intervalOf(shape: AnswerShape): TupleShape | null {
  if (shape.kind !== 'relation') return null;
  const relation = upwards(shape);
  if (relation === null) return null;
  return relation.sides.length === 2 ? rayOf(relation) : boundedIntervalOf(relation);
}

function boundedIntervalOf({ sides, operators }: RelationShape): TupleShape | null {
  const [low = '', variable = '', high = '', ...more] = sides;
  const [left = '', right = ''] = operators;
  return more.length === 0 && isQuantity(variable) ? interval([low, left], [high, right]) : null;
}

function rayOf({ sides, operators }: RelationShape): TupleShape | null {
  const [low = '', high = ''] = sides;
  const [operator = ''] = operators;
  if (isQuantity(low)) return isConstant(high) ? interval(['-\\infty', '<'], [high, operator]) : null;
  return isQuantity(high) && isConstant(low) ? interval([low, operator], ['\\infty', '<']) : null;
}

function interval(
  [low, left]: readonly [string, string],
  [high, right]: readonly [string, string],
): TupleShape {
  return {
    kind: 'tuple',
    open: left === '<' ? '(' : '[',
    close: right === '<' ? ')' : ']',
    items: [readShape(low), readShape(high)],
  };
}

/** An inequality from the smallest side to the greatest; null where it has none. */
export function upwards(shape: RelationShape): RelationShape | null {
  return [shape, mirrored(shape)].find(isUpwards) ?? null;
}

/** The name of a quantity; null where a side is none, as a number. */
export function bareName(side: string): string | null {
  return isQuantity(side) ? squeezed(side) : null;
}

function isUpwards(relation: RelationShape): boolean {
  return relation.operators.every((operator) => operator === '<' || operator === '\\le');
}

/** Read from right to left. */
export function mirrored(relation: RelationShape): RelationShape {
  return {
    ...relation,
    sides: [...relation.sides].reverse(),
    operators: [...relation.operators].reverse().map((operator) => ownValue(SWAPPED, operator) ?? operator),
  };
}
