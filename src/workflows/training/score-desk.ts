import { condition } from '@temporalio/workflow';
import { isSameEvaluation } from '../../core/same-evaluation';
import { bookkeeping } from '../activities';
import type { EvaluationFinished, TrainingInput } from '../contracts';
import * as queue from './evaluation-queue';
import type { GateDesk } from './gate-desk';
import { closedCells, tellLostWorkers, tellRemarks, toSettle } from './settled-evaluations';
import type { PendingEvaluation, TrainingState } from './training-state';
import { rememberCells, rememberScores } from './training-state';

/** Takes what evaluations came to, has it written, and has the gates of their schedules decide. */
export class ScoreDesk {
  private readonly inbox: EvaluationFinished[] = [];
  private isWriting = false;
  private areGatesSilent = false;

  constructor(
    private readonly input: TrainingInput,
    private readonly gates: GateDesk,
  ) {}

  take(finished: EvaluationFinished): void {
    this.inbox.push(finished);
  }

  /** Everything that was told is written. */
  get isIdle(): boolean {
    return this.inbox.length === 0 && !this.isWriting;
  }

  /** The run is being ended: scores are written still, and nothing follows from them. */
  silenceGates(): void {
    this.areGatesSilent = true;
  }

  /** Writes scores as they come in; ends only by throwing. */
  async write(stateOf: () => TrainingState): Promise<never> {
    for (;;) {
      await condition(() => this.inbox.length > 0);
      this.isWriting = true;
      await this.writeTold(stateOf(), this.inbox.splice(0));
      this.isWriting = false;
    }
  }

  private async writeTold(state: TrainingState, told: readonly EvaluationFinished[]): Promise<void> {
    for (const one of told) {
      const part = queue.partOf(state, one);
      if (!part) continue;
      await this.record(state, [one], [part]);
      queue.closePart(state, part);
    }
    const finished = told.filter(({ part }) => part === undefined);
    if (finished.length === 0) return;
    const settled = state.pending.filter((pending) => finished.some((one) => isSameEvaluation(one, pending)));
    await this.record(
      state,
      finished.map((one) => queue.withSkipped(one, state.pending)),
      settled.map((one) => queue.untold(state, one)),
    );
    state.pending = state.pending.filter((one) => !settled.some((other) => isSameEvaluation(one, other)));
  }

  private async record(
    state: TrainingState,
    finished: readonly EvaluationFinished[],
    settled: readonly PendingEvaluation[],
  ): Promise<void> {
    state.scoreWrites += 1;
    tellLostWorkers(state, finished);
    const rows = await bookkeeping.recordScores({
      run: this.input.run,
      write: state.scoreWrites,
      finished,
      schedules: state.plan.evaluations,
      evaluations: settled.map((evaluation) => toSettle(state, evaluation, settled)),
    });
    rememberScores(state, rows);
    tellRemarks(state, rows);
    if (!this.areGatesSilent)
      for (const evaluation of settled) await this.gates.judge(state, evaluation, rows);
    for (const evaluation of settled) rememberCells(state, closedCells(evaluation, rows));
  }
}
