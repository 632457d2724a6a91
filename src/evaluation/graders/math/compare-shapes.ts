import type { AnswerShape, CollectionShape, MatrixShape, RelationShape, TupleShape } from './answer-shape';
import { compareCollections } from './compare-collections';
import { compareScalars } from './compare-scalars';
import type { ExactPath } from './exact-path';
import { isCalculable, preparedFormula } from './formula';
import { readShape } from './read-shape';
import type { Assignment } from './relations';
import { assignmentOf, intervalOf, mirrored, valueOfSum } from './relations';
import { squeezed } from './squeezed';

const DECIMAL_COMMA = /^[+-]?\d+,\d+(?!\d)/;
const SURE_DECIMAL_COMMA = /^[+-]?(?:0,\d{2,}|\d+,(?:\d{2}|\d{4,}))$/;

/** An answer read from its text. */
export interface ReadAnswer {
  readonly text: string;
  readonly shape: AnswerShape;
}

export function readAnswer(text: string): ReadAnswer {
  return { text, shape: readShape(text) };
}

/**
 * Whether two answers are the same. The form is decided here: tuples are ordered, sets and bare lists are not, brackets of
 * intervals count, a relation that gives a quantity its value stands for the value. Parts that need algebra go to the
 * exact path one by one.
 */
export async function areSame(given: ReadAnswer, expected: ReadAnswer, exact: ExactPath): Promise<boolean> {
  if (squeezed(given.text) === squeezed(expected.text)) return true;
  const sum = valueOfSum(given.shape, expected.shape);
  if (sum !== null) return compareAnswers(readAnswer(sum), expected, exact);
  return compareNamed(...withDecimalComma(given, expected), exact);
}

/** Without names. "1 = 2" is not 2. */
async function compareNamed(given: ReadAnswer, expected: ReadAnswer, exact: ExactPath): Promise<boolean> {
  const [left, right] = withoutNames(given, expected);
  if (!(await compareAnswers(left, right, exact))) return false;
  const claim = left === given ? undefined : assignmentOf(given.shape)?.claim;
  return claim === undefined || compareAnswers(readAnswer(claim), right, exact);
}

/**
 * "2,74" where the answer is one number. A reference is taken at its word, as "3,4" may be two values, unless the answer has its digits with a
 * point, two or more of them behind it.
 */
function withDecimalComma(given: ReadAnswer, expected: ReadAnswer): readonly [ReadAnswer, ReadAnswer] {
  if (given.shape.kind === 'list' && expected.shape.kind === 'number' && DECIMAL_COMMA.test(given.text))
    return [readAnswer(given.text.replace(',', '.')), expected];
  const isSurelyDecimal =
    SURE_DECIMAL_COMMA.test(expected.text) && given.text === expected.text.replace(',', '.');
  return isSurelyDecimal ? [given, given] : [given, expected];
}

function compareAnswers(given: ReadAnswer, expected: ReadAnswer, exact: ExactPath): Promise<boolean> {
  const kinds = [given.shape.kind, expected.shape.kind];
  if (kinds.includes('relation')) return compareRelated(given, expected, exact);
  if (kinds.includes('union')) return compareSets(given, expected, exact);
  return compareShapes(given.shape, expected.shape, exact);
}

/** Where one side names the value and the other does not, or both name the same. */
function withoutNames(given: ReadAnswer, expected: ReadAnswer): readonly [ReadAnswer, ReadAnswer] {
  const [mine, theirs] = [assignmentOf(given.shape), assignmentOf(expected.shape)];
  if (mine && theirs) {
    return areNamedAlike(mine, theirs)
      ? [readAnswer(mine.value), readAnswer(theirs.value)]
      : [given, expected];
  }
  // An equation keeps both its sides against "y = …"; a set or interval is the value of "x \in …" and meets inequalities.
  if (mine) return isEquation(expected.shape) ? [given, expected] : [readAnswer(mine.value), expected];
  if (theirs) return isEquation(given.shape) ? [given, expected] : [given, readAnswer(theirs.value)];
  return [given, expected];
}

/** "About 5" is not "exactly 5", whatever the name. */
function areNamedAlike(mine: Assignment, theirs: Assignment): boolean {
  if (mine.isApproximate !== theirs.isApproximate) return false;
  return mine.name === null || theirs.name === null || mine.name === theirs.name;
}

function isEquation(shape: AnswerShape): boolean {
  return shape.kind === 'relation' && shape.operators.includes('=');
}

async function compareShapes(given: AnswerShape, expected: AnswerShape, exact: ExactPath): Promise<boolean> {
  if (isCollection(given) || isCollection(expected)) return compareWithCollection(given, expected, exact);
  if (given.kind === 'tuple' && expected.kind === 'tuple') return compareTuples(given, expected, exact);
  if (given.kind === 'matrix' && expected.kind === 'matrix') return compareMatrices(given, expected, exact);
  if (given.kind === 'ratio' && expected.kind === 'ratio')
    return compareInOrder(given.items, expected.items, exact);
  return compareCalculated(given, expected, exact);
}

/** A matrix may also be given as a sum or product of matrices. */
function compareCalculated(given: AnswerShape, expected: AnswerShape, exact: ExactPath): Promise<boolean> {
  if (given.kind === 'expression' && given.isReadable && expected.kind === 'matrix') {
    return exact.areEqual({ kind: 'value', given: given.latex, expected: expected.latex });
  }
  if (expected.kind === 'expression' && expected.isReadable && given.kind === 'matrix') {
    return exact.areEqual({ kind: 'value', given: given.latex, expected: expected.latex });
  }
  return compareScalars(given, expected, exact);
}

function compareWithCollection(
  given: AnswerShape,
  expected: AnswerShape,
  exact: ExactPath,
): Promise<boolean> {
  const isSame = sameItem(exact);
  if (isCollection(given) && isCollection(expected)) return compareCollections(given, expected, isSame);
  if (isPoint(given) && isNamed(expected)) return compareInOrder(given.items, expected.items, exact);
  if (isPoint(expected) && isNamed(given)) return compareInOrder(given.items, expected.items, exact);
  if (given.kind === 'list') return isEveryForm(given, (item) => isSame(item, expected));
  if (expected.kind === 'list') return isEveryForm(expected, (item) => isSame(given, item));
  return Promise.resolve(false);
}

function isPoint(shape: AnswerShape): shape is TupleShape {
  return shape.kind === 'tuple' && shape.open === '(' && shape.close === ')';
}

/** "p = 5, q = 2" for (5,2): one coordinate of each name, in the order of the alphabet. */
function isNamed(shape: AnswerShape): shape is CollectionShape {
  if (shape.kind !== 'list') return false;
  const names = shape.items.map((item) => assignmentOf(item)?.name ?? '');
  return names.every(
    (name, index) => /^[a-z]$/.test(name) && (index === 0 || name > (names[index - 1] ?? '')),
  );
}

function compareMatrices(given: MatrixShape, expected: MatrixShape, exact: ExactPath): Promise<boolean> {
  const [mine, theirs] = [given, expected].map(({ rows }) => rows.map((row) => row.length).join(' '));
  return mine === theirs
    ? compareInOrder(given.rows.flat(), expected.rows.flat(), exact)
    : Promise.resolve(false);
}

/** One value in several forms: 15\frac{39}{40} or \frac{639}{40}. "2, 2" is the value twice, and "x = 2, y = 2" two values. */
async function isEveryForm(
  { items, hasRepetitions }: CollectionShape,
  isSame: (item: AnswerShape) => Promise<boolean>,
): Promise<boolean> {
  const names = items.flatMap((item) => assignmentOf(item)?.name ?? []);
  if (hasRepetitions || new Set(names).size > 1) return false;
  for (const item of items) if (!(await isSame(item))) return false;
  return true;
}

function isCollection(shape: AnswerShape): shape is CollectionShape {
  return shape.kind === 'set' || shape.kind === 'list';
}

/** Items of lists and tuples are compared as answers of their own. */
function sameItem(exact: ExactPath): (given: AnswerShape, expected: AnswerShape) => Promise<boolean> {
  return (given, expected) => compareNamed({ text: '', shape: given }, { text: ' ', shape: expected }, exact);
}

async function compareInOrder(
  given: readonly AnswerShape[],
  expected: readonly AnswerShape[],
  exact: ExactPath,
): Promise<boolean> {
  if (given.length !== expected.length) return false;
  for (const [index, item] of given.entries()) {
    const other = expected[index];
    if (!other || !(await sameItem(exact)(item, other))) return false;
  }
  return true;
}

function compareTuples(given: TupleShape, expected: TupleShape, exact: ExactPath): Promise<boolean> {
  const hasSameBrackets = given.open === expected.open && given.close === expected.close;
  return hasSameBrackets ? compareInOrder(given.items, expected.items, exact) : Promise.resolve(false);
}

/** Unions part by part in any order; else, as sets of numbers, by the exact path. */
async function compareSets(given: ReadAnswer, expected: ReadAnswer, exact: ExactPath): Promise<boolean> {
  const parts = [given, expected].map(({ shape }) => partsOf(shape));
  const [mine, theirs] = parts;
  if (mine && theirs && (await compareCollections(collection(mine), collection(theirs), sameItem(exact))))
    return true;
  const texts = [given, expected].map((answer) => setText(answer));
  const [left, right] = texts;
  if (left === null || right === null || left === undefined || right === undefined) return false;
  return exact.areEqual({ kind: 'set', given: left, expected: right });
}

function collection(items: readonly AnswerShape[]): CollectionShape {
  return { kind: 'list', items, hasRepetitions: false };
}

function partsOf(shape: AnswerShape): readonly AnswerShape[] | null {
  if (shape.kind === 'union') return shape.parts.length > 0 ? shape.parts : null;
  return shape.kind === 'tuple' || shape.kind === 'set' ? [shape] : null;
}

function setText({ text, shape }: ReadAnswer): string | null {
  if (shape.kind === 'union') return isCalculable(shape.latex) ? preparedFormula(shape.latex) : null;
  const isPlain = shape.kind === 'tuple' || shape.kind === 'set';
  return isPlain && text.trim() !== '' && isCalculable(text) ? preparedFormula(text) : null;
}

async function compareRelated(given: ReadAnswer, expected: ReadAnswer, exact: ExactPath): Promise<boolean> {
  if (given.shape.kind === 'relation' && expected.shape.kind === 'relation') {
    return compareRelations(given.shape, expected.shape, exact);
  }
  const [mine, theirs] = [given, expected].map((answer) => intervalOf(answer.shape) ?? answer.shape);
  if (mine?.kind !== 'tuple' || theirs?.kind !== 'tuple') return false;
  return compareTuples(mine, theirs, exact);
}

async function compareRelations(
  given: RelationShape,
  expected: RelationShape,
  exact: ExactPath,
): Promise<boolean> {
  for (const candidate of [given, mirrored(given)]) {
    if (candidate.operators.join(' ') !== expected.operators.join(' ')) continue;
    const [mine, theirs] = [candidate, expected].map((each) => each.sides.map((side) => readShape(side)));
    if (mine && theirs && (await compareInOrder(mine, theirs, exact))) return true;
    if (candidate.sides.length === 2 && (await compareDifferences(candidate, expected, exact))) return true;
  }
  return compareFlippedSigns(given, expected, exact);
}

/** -x > -1 against x < 1. */
function compareFlippedSigns(
  given: RelationShape,
  expected: RelationShape,
  exact: ExactPath,
): Promise<boolean> {
  const [operator = ''] = given.operators;
  const isOpposite = mirrored(given).operators.join(' ') === expected.operators.join(' ');
  if (given.sides.length !== 2 || expected.sides.length !== 2 || !isOpposite || operator === '=')
    return Promise.resolve(false);
  return compareDifferences(mirrored(given), expected, exact);
}

/** Both sides brought together: equal up to a factor, a positive one where the direction counts. */
function compareDifferences(
  given: RelationShape,
  expected: RelationShape,
  exact: ExactPath,
): Promise<boolean> {
  const sides = [given, expected].map((relation) => relation.sides.map((side) => preparedFormula(side)));
  const [[a = '', b = ''] = [], [c = '', d = ''] = []] = sides;
  if (![...given.sides, ...expected.sides].every(isCalculable)) return Promise.resolve(false);
  const hasDirection = !given.operators.every((operator) => operator === '=' || operator === '\\ne');
  return exact.areEqual({ kind: hasDirection ? 'inequality' : 'equation', given: [a, b], expected: [c, d] });
}
