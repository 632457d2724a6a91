import type { Snapshot } from '../../core/training-plan';
import { remainingOf } from './early-cells';
import type { RequestedEvaluation, RequestedSnapshot, TrainingState } from './training-state';

interface StartableRequest {
  readonly evaluation: RequestedEvaluation;
  readonly snapshot: RequestedSnapshot;
}

/** Evaluations that people asked for and that have not begun, as the run's state has them. */
export class RequestedEvaluations {
  constructor(private readonly state: TrainingState | null) {}

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  get canStart(): boolean {
    return this.waiting.some((request) => this.isFree(request));
  }

  /** One that waits for a snapshot of weights the run has reached; null where there is none. */
  get due(): RequestedEvaluation | null {
    const reached = this.state?.position.collectedThrough ?? -1;
    return this.waiting.find(({ snapshot, step }) => snapshot === null && step <= reached) ?? null;
  }

  /** Steps that need a snapshot. */
  steps(): number[] {
    return this.waiting.filter(({ snapshot }) => snapshot === null).map(({ step }) => step);
  }

  uses(samplerPath: string): boolean {
    return this.waiting.some(({ snapshot }) => snapshot?.samplerPath === samplerPath);
  }

  snapshots(): Snapshot[] {
    return this.waiting.flatMap(({ step, snapshot }) =>
      snapshot === null ? [] : [{ ...snapshot, step, schedules: [] }],
    );
  }

  /** Gives a snapshot to those who wait for its step. */
  take({ step, samplerPath, isCheckpoint }: Omit<Snapshot, 'schedules'>, lineage?: number): void {
    const { state } = this;
    if (!state?.requests) return;
    const current = state.model?.lineage ?? state.lost?.lineage ?? 0;
    const snapshot = { samplerPath, isCheckpoint, lineage: lineage ?? current };
    state.requests = state.requests.map((request) =>
      request.snapshot === null && request.step === step ? { ...request, snapshot } : request,
    );
  }

  /** Takes the next one that can begin off the list. */
  takeNext(): StartableRequest | null {
    const { state } = this;
    const evaluation = this.waiting.find((request) => this.isFree(request));
    if (!state || !evaluation?.snapshot) return null;
    state.requests = this.waiting.filter((request) => request !== evaluation);
    return { evaluation, snapshot: evaluation.snapshot };
  }

  private get waiting(): readonly RequestedEvaluation[] {
    return this.state?.requests ?? [];
  }

  /** A cell has one journal, so two evaluations of it go one after the other; the second one finds the first one's result. */
  private isFree({ step, evaluators, snapshot }: RequestedEvaluation): boolean {
    const isUnderWay = this.state?.pending.some(
      (pending) => pending.step === step && remainingOf(pending).some((name) => evaluators.includes(name)),
    );
    return snapshot !== null && isUnderWay === false;
  }
}
