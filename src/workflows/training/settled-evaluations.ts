import type { EvaluationCell, ScoreRow } from '../../core/run';
import { CELL_OMISSIONS } from '../../core/run';
import { REWARD_ALARM } from '../../core/reinforcement/reward-watch';
import { isSameEvaluation } from '../../core/same-evaluation';
import { workerLost } from '../../core/timeline';
import type { EvaluationFinished } from '../contracts';
import { RequestedEvaluations } from './requested-evaluations';
import { isPolicyInUse } from './rollout-state';
import type { PendingEvaluation, TrainingState } from './training-state';
import { rememberEvent, rememberRemarks, schedulesOf } from './training-state';

/** What the cells of an evaluation came to. */
export function closedCells(
  { step, evaluators, skipped = [], schedules }: PendingEvaluation,
  rows: readonly ScoreRow[],
): EvaluationCell[] {
  return [...evaluators, ...skipped].map((evaluator) => {
    const failed = rows.find(
      (row) =>
        row.step === step && row.evaluator === evaluator && row.error && schedules.includes(row.schedule),
    );
    const cell = { step, evaluator, schedules };
    if (failed?.error === undefined) return { ...cell, status: 'done' };
    const omission = CELL_OMISSIONS.find((known) => known === failed.metric);
    return { ...cell, status: omission ?? 'failed', error: failed.error };
  });
}

/** What is to be settled once scores are written. A snapshot that another evaluation still measures, or will, stays. */
export function toSettle(
  state: TrainingState,
  evaluation: PendingEvaluation,
  settled: readonly PendingEvaluation[],
) {
  const { pending, scheduleChanges } = state;
  const { samplerPath, step } = evaluation;
  const isUsed =
    pending.some(
      (other) => other.samplerPath === samplerPath && !settled.some((one) => isSameEvaluation(one, other)),
    ) ||
    new RequestedEvaluations(state).uses(samplerPath) ||
    isPolicyInUse(state, samplerPath);
  return {
    ...evaluation,
    ...(isUsed && { isCheckpoint: true }),
    ...(scheduleChanges && { scheduledAs: schedulesOf(state, step) }),
  };
}

/** Cells whose worker was lost, once each: those of one schedule are told before all of their evaluation are final. */
export function tellLostWorkers(state: TrainingState, finished: readonly EvaluationFinished[]): void {
  for (const { step, cells } of finished) {
    for (const { evaluator, attempt } of cells) {
      if (attempt === undefined) continue;
      const text = workerLost(`evaluator ${evaluator} goes on with step ${step}`, attempt);
      if (state.recentEvents?.some((event) => event.text === text)) continue;
      rememberEvent(state, 'worker lost', text);
    }
  }
}

/** What was remarked of scores, in the status and in the timeline: of several that say the same, once. */
export function tellRemarks(state: TrainingState, rows: readonly ScoreRow[]): void {
  const told = new Set<string>();
  for (const { remark, metric } of rows) {
    if (remark === undefined || told.has(remark)) continue;
    told.add(remark);
    rememberRemarks(state, [remark]);
    rememberEvent(state, metric.startsWith(REWARD_ALARM) ? 'reward alarm' : 'remark', remark);
  }
}
