import type { TrainingState } from './training-state';

/** A change that has been worked out. Until it is applied nothing is changed. */
interface Resolved {
  readonly apply: () => void;
}

/** A change that waits for a boundary between segments, for whoever asked to learn what came of it. */
export class WaitingChange<Change extends Resolved> {
  outcome: { readonly change: Change } | { readonly error: unknown } | null = null;

  constructor(private readonly resolve: (state: TrainingState) => Change) {}

  make(state: TrainingState): void {
    try {
      const change = this.resolve(state);
      change.apply();
      this.outcome = { change };
    } catch (error) {
      this.refuse(error);
    }
  }

  refuse(error: unknown): void {
    this.outcome = { error };
  }
}
