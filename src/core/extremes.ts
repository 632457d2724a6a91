/** The largest of any number of values, -Infinity without any; as arguments of Math.max, 125,000 overflow the stack. */
export function largestOf(values: Iterable<number>): number {
  let largest = -Infinity;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

/** The smallest of any number of values, Infinity without any. */
export function smallestOf(values: Iterable<number>): number {
  let smallest = Infinity;
  for (const value of values) smallest = Math.min(smallest, value);
  return smallest;
}
