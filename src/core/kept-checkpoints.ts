export interface KeptCheckpoints {
  /** Steps of which there are weights to sample from, the newest last. */
  readonly keptSteps: readonly number[];
  /** Earlier steps that are kept, too, and not listed. */
  readonly otherCount?: number;
  /** Steps of checkpoints that training alone can go on from: they have no weights to sample from. */
  readonly stateSteps?: readonly number[];
}

/** What a run keeps in words, with what `runs show` counts and nothing can be measured at. */
export function keptText({ keptSteps, otherCount = 0, stateSteps = [] }: KeptCheckpoints): string {
  const others = otherCount === 0 ? '' : ` and ${otherCount} others before them`;
  const steps = `${keptSteps.join(', ')}${others}`;
  if (stateSteps.length === 0) return keptSteps.length === 0 ? 'none yet' : steps;
  const state = `of step ${stateSteps.join(', ')} the state alone, which training goes on from`;
  return keptSteps.length === 0 ? `none with weights to sample from yet; ${state}` : `${steps}; ${state}`;
}
