/** A change from a step on, until the next one. */
interface StepChange {
  readonly step: number;
}

/** The change that holds at a step; null before the first one. */
export function changeAt<Change extends StepChange>(changes: readonly Change[], step: number): Change | null {
  return changes[countUntil(changes, step) - 1] ?? null;
}

/** In the order of their steps, with one more; a second one at a step takes the first one's place. */
export function withChange<Change extends StepChange>(changes: readonly Change[], added: Change): Change[] {
  const all = [...changes];
  placeChange(all, added);
  return all;
}

/** The same in place, for who puts many together. */
export function placeChange<Change extends StepChange>(changes: Change[], added: Change): void {
  const count = countUntil(changes, added.step);
  const isSecond = changes[count - 1]?.step === added.step;
  changes.splice(isSecond ? count - 1 : count, Number(isSecond), added);
}

/** What steps from `step` on have to know of. */
export function changesFrom<Change extends StepChange>(changes: readonly Change[], step: number): Change[] {
  return changes.slice(Math.max(0, countUntil(changes, step) - 1));
}

/** How many of them, which stand in the order of their steps, are at a step or before it. */
function countUntil(changes: readonly StepChange[], step: number): number {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((changes[middle]?.step ?? Infinity) <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}
