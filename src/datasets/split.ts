import { DomainError } from '../core/errors';
import { shuffledIndices } from '../core/random';

/** How many rows to hold out: a count, or a part of the whole (0…1, at least one row). */
export type TestPart = { readonly testSize: number } | { readonly testFraction: number };

/** Holds out rows chosen by the seed alone; both parts keep the order of the dataset. */
export function splitTrainTest<Row>(
  rows: readonly Row[],
  options: TestPart & { readonly seed: number },
): { train: Row[]; test: Row[] } {
  const testCount = countTestRows(rows.length, options);
  const heldOut = new Set(shuffledIndices(rows.length, options.seed).subarray(0, testCount));
  return {
    train: rows.filter((_, index) => !heldOut.has(index)),
    test: rows.filter((_, index) => heldOut.has(index)),
  };
}

function countTestRows(rowCount: number, part: TestPart): number {
  if ('testSize' in part) {
    if (Number.isInteger(part.testSize) && part.testSize >= 0 && part.testSize < rowCount)
      return part.testSize;
    throw new DomainError(
      'bad-config',
      `testSize ${part.testSize} leaves nothing to train on: the dataset has ${rowCount} rows. Use 0 to ${rowCount - 1}.`,
    );
  }
  const { testFraction } = part;
  if (!(testFraction >= 0 && testFraction < 1)) {
    throw new DomainError(
      'bad-config',
      `testFraction ${testFraction} is not a part of the whole. Use 0 up to, but not, 1.`,
    );
  }
  if (testFraction === 0) return 0;
  const testCount = Math.max(1, Math.round(rowCount * testFraction));
  if (testCount < rowCount) return testCount;
  throw new DomainError(
    'bad-config',
    `testFraction ${testFraction} of ${rowCount} rows leaves nothing to train on. Use a smaller part or more rows.`,
  );
}
