/**
 * Holm's adjusted p-values (Holm 1979), in the order given. Rejecting those at most α keeps the chance of even one false
 * rejection among all of them at α, whatever their dependence: the running maximum of (m − rank + 1) · p.
 */
export function holm(pValues: readonly number[]): number[] {
  let largest = 0;
  return inOrderOf(
    pValues,
    (left, right) => left - right,
    (pValue, position) => {
      largest = Math.max(largest, Math.min(1, (pValues.length - position) * pValue));
      return largest;
    },
  );
}

/**
 * Benjamini's and Hochberg's adjusted p-values (1995), in the order given. Rejecting those at most α keeps the expected
 * share of false ones among the rejected at α, if the tests are independent: the running minimum of m / rank · p.
 */
export function benjaminiHochberg(pValues: readonly number[]): number[] {
  let smallest = 1;
  return inOrderOf(
    pValues,
    (left, right) => right - left,
    (pValue, position) => {
      smallest = Math.min(smallest, (pValues.length / (pValues.length - position)) * pValue);
      return smallest;
    },
  );
}

/** Visits the values in an order and puts what comes of each where the value stood. */
function inOrderOf(
  values: readonly number[],
  compare: (left: number, right: number) => number,
  adjust: (value: number, position: number) => number,
): number[] {
  const sorted = [...values.entries()].sort(([, left], [, right]) => compare(left, right));
  const adjusted = new Array<number>(values.length).fill(NaN);
  for (const [position, [index, value]] of sorted.entries()) adjusted[index] = adjust(value, position);
  return adjusted;
}
