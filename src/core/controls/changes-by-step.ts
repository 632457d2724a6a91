/** A change from a step on, until the next one. */
interface StepChange {
  readonly step: number;
}

/** The change that holds at a step; null before the first one. */
export function changeAt<Change extends StepChange>(changes: readonly Change[], step: number): Change | null {
  return changes.findLast((change) => change.step <= step) ?? null;
}

/** In the order of their steps, with one more; a second one at a step takes the first one's place. */
export function withChange<Change extends StepChange>(changes: readonly Change[], added: Change): Change[] {
  return [...changes.filter(({ step }) => step !== added.step), added].sort((a, b) => a.step - b.step);
}

/** What steps from `step` on have to know of. */
export function changesFrom<Change extends StepChange>(changes: readonly Change[], step: number): Change[] {
  const first = changes.findLastIndex((change) => change.step <= step);
  return changes.slice(Math.max(0, first));
}
