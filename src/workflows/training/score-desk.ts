import { condition } from '@temporalio/workflow';
import type { ScoreRow } from '../../core/run';
import { isSameEvaluation } from '../../core/same-evaluation';
import { bookkeeping } from '../activities';
import type { EvaluationFinished, TrainingInput } from '../contracts';
import { earlyOf, newRows, noteRecorded } from './early-cells';
import * as queue from './evaluation-queue';
import type { GateDesk } from './gate-desk';
import { closedCells, tellLostWorkers, tellRemarks, toSettle } from './settled-evaluations';
import type { PendingEvaluation, TrainingState } from './training-state';
import { rememberCells, rememberScores } from './training-state';

interface Told extends EvaluationFinished {
  /** Others of the evaluation go on, and nothing is decided by it yet. */
  readonly isEarly?: true;
}

/** Takes what evaluations came to, has it written, and has the gates of their schedules decide. */
export class ScoreDesk {
  private readonly inbox: Told[] = [];
  private isWriting = false;
  private areGatesSilent = false;

  constructor(
    private readonly input: TrainingInput,
    private readonly gates: GateDesk,
  ) {}

  take(finished: EvaluationFinished): void {
    this.inbox.push(finished);
  }

  /** Takes cells whose evaluation goes on with others. */
  takeEarly(cells: EvaluationFinished): void {
    this.inbox.push({ ...cells, isEarly: true });
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

  private async writeTold(state: TrainingState, told: readonly Told[]): Promise<void> {
    const final = told.filter(({ isEarly }) => !isEarly);
    for (const one of told) if (one.isEarly) await this.writeEarly(state, one);
    for (const one of final) {
      const part = queue.partOf(state, one);
      if (!part) continue;
      await this.decide(state, [part], await this.record(state, [one], [part]));
      queue.closePart(state, part);
    }
    const finished = final.filter(({ part }) => part === undefined);
    if (finished.length === 0) return;
    const settled = state.pending.filter((pending) => finished.some((one) => isSameEvaluation(one, pending)));
    const cells = finished.map((one) => queue.withSkipped(one, state.pending));
    const untold = settled.map((one) => queue.untold(state, one));
    await this.decide(state, untold, await this.record(state, cells, untold));
    state.pending = state.pending.filter((one) => !settled.some((other) => isSameEvaluation(one, other)));
  }

  private async writeEarly(state: TrainingState, told: Told): Promise<void> {
    const early = earlyOf(state, told);
    if (!early) return;
    const rows = await this.record(state, [told], [early]);
    noteRecorded(state, early);
    rememberCells(state, closedCells(early, rows));
  }

  private async record(
    state: TrainingState,
    finished: readonly EvaluationFinished[],
    settled: readonly PendingEvaluation[],
  ): Promise<readonly ScoreRow[]> {
    state.scoreWrites += 1;
    tellLostWorkers(state, finished);
    const rows = await bookkeeping.recordScores({
      run: this.input.run,
      write: state.scoreWrites,
      finished,
      schedules: state.plan.evaluations,
      evaluations: settled.map((evaluation) => toSettle(state, evaluation, settled)),
    });
    const fresh = newRows(rows, settled);
    rememberScores(state, fresh);
    tellRemarks(state, fresh);
    return rows;
  }

  private async decide(
    state: TrainingState,
    settled: readonly PendingEvaluation[],
    rows: readonly ScoreRow[],
  ): Promise<void> {
    if (!this.areGatesSilent)
      for (const evaluation of settled) await this.gates.judge(state, evaluation, rows);
    for (const evaluation of settled) rememberCells(state, closedCells(evaluation, rows));
  }
}
