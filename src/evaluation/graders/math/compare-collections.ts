import type { AnswerShape, CollectionShape } from './answer-shape';
import { readShape } from './read-shape';
import { assignmentOf } from './relations';

type SameItem = (given: AnswerShape, expected: AnswerShape) => Promise<boolean>;

/**
 * Values in any order. In braces and of points repetitions do not count, of numbers in bare lists they do. "x = 1, y = 2" against
 * "1, 2" is compared in order, since the names say which is which.
 */
export async function compareCollections(
  given: CollectionShape,
  expected: CollectionShape,
  isSame: SameItem,
): Promise<boolean> {
  const [mine, theirs] = [named(given), named(expected)];
  if (mine.isOrdered !== theirs.isOrdered) return isInOrder(mine.items, theirs.items, isSame);
  const isSetOfPoints = [...mine.items, ...theirs.items].every(({ kind }) => kind === 'tuple');
  if (isSetOfPoints || (given.kind === 'set' && expected.kind === 'set')) {
    return (
      (await isContained(mine.items, theirs.items, isSame)) &&
      (await isContained(theirs.items, mine.items, isSame))
    );
  }
  return isPermutation(mine.items, theirs.items, isSame);
}

/** Takes off a name that all values share ("n = 1, 2", "x = 1 or x = 2"); ordered when there are several names. */
function named({ items }: CollectionShape): { items: readonly AnswerShape[]; isOrdered: boolean } {
  const assignments = items.map((item) => assignmentOf(item));
  const names = new Set(
    assignments.map((assignment) => assignment?.name).filter((name) => typeof name === 'string'),
  );
  if (names.size === 0) return { items, isOrdered: false };
  if (names.size > 1) return { items, isOrdered: assignments.every((assignment) => assignment?.name) };
  const values = items.map((item, index) => {
    const value = assignments[index]?.value;
    return value === undefined ? item : readShape(value);
  });
  return { items: values, isOrdered: false };
}

async function isInOrder(
  given: readonly AnswerShape[],
  expected: readonly AnswerShape[],
  isSame: SameItem,
): Promise<boolean> {
  if (given.length !== expected.length) return false;
  for (const [index, item] of given.entries()) {
    const other = expected[index];
    if (!other || !(await isSame(item, other))) return false;
  }
  return true;
}

async function isContained(
  inner: readonly AnswerShape[],
  outer: readonly AnswerShape[],
  isSame: SameItem,
): Promise<boolean> {
  for (const item of inner) if ((await findSame(item, outer, isSame)) < 0) return false;
  return true;
}

async function isPermutation(
  given: readonly AnswerShape[],
  expected: readonly AnswerShape[],
  isSame: SameItem,
): Promise<boolean> {
  if (given.length !== expected.length) return false;
  const open = [...expected];
  for (const item of given) {
    const found = await findSame(item, open, isSame);
    if (found < 0) return false;
    open.splice(found, 1);
  }
  return true;
}

async function findSame(item: AnswerShape, among: readonly AnswerShape[], isSame: SameItem): Promise<number> {
  for (const [index, other] of among.entries()) if (await isSame(item, other)) return index;
  return -1;
}
