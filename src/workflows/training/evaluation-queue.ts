import { getExternalWorkflowHandle, log, patched } from '@temporalio/workflow';
import type { EvaluationCell } from '../../core/run';
import type { EvaluationSchedule } from '../../core/schedules/evaluation-schedule';
import { isSameEvaluation } from '../../core/same-evaluation';
import type { Admission, UnfinishedEvaluation } from '../../core/schedules/overlap';
import { admitEvaluation } from '../../core/schedules/overlap';
import type { Snapshot } from '../../core/training-plan';
import { cancelEvaluatorsSignal } from '../contracts';
import type { CellResult, EvaluationFinished } from '../contracts';
import { remainingOf } from './early-cells';
import { evaluationId, scheduledEvaluation } from './evaluation-children';
import { failureMessage } from './failures';
import type { PendingEvaluation, TrainingState } from './training-state';
import { lastStepOf, rememberCells, rememberEvent, schedulesOf } from './training-state';

/** What becomes of a snapshot that is due. */
export interface Admitted {
  /** What begins now, or is skipped, and what waits; each evaluator is in one of them. */
  readonly pending: readonly PendingEvaluation[];
  readonly schedules: readonly EvaluationSchedule[];
  /** Evaluators of earlier ones that make room. */
  readonly cancels: readonly CancelledPart[];
}

interface CancelledPart {
  readonly schedule: string;
  readonly older: PendingEvaluation;
  readonly evaluators: readonly string[];
}

const SKIPPED = 'skipped: an earlier evaluation of its schedule was not final (overlap)';

/** Decides by the overlap of its schedules when and whether the evaluators of a snapshot run. */
export function admitSnapshot(state: TrainingState, run: string, snapshot: Snapshot): Admitted {
  const { step } = snapshot;
  const schedules = schedulesOf(state, step).filter(({ name }) => snapshot.schedules.includes(name));
  const admission = admitEvaluation(
    { step, isLastStep: step >= lastStepOf(state), schedules },
    state.pending.filter(isScheduled).map(unfinishedOf),
  );
  return {
    pending: partsOf(run, snapshot, admission),
    schedules,
    cancels: admission.cancels.flatMap((name) => cancelledParts(state, name)),
  };
}

function isScheduled({ request }: PendingEvaluation): boolean {
  return request === undefined;
}

function unfinishedOf({
  step,
  schedules,
  waitedForBy,
  isQueued = false,
}: PendingEvaluation): UnfinishedEvaluation {
  return { step, schedules: waitedForBy ?? schedules, isQueued };
}

/** A result is given to every schedule that asked for its evaluator, whichever part measures it. */
function partsOf(run: string, snapshot: Snapshot, { runs, waits, skipped }: Admission): PendingEvaluation[] {
  const parts: PendingEvaluation[] = [];
  const taken = () => parts.flatMap(({ evaluators }) => evaluators);
  const now = scheduledEvaluation(run, snapshot, runs);
  if (now) {
    const isWhole = waits.length === 0 && skipped.length === 0;
    const waitedForBy = [...runs, ...sharing(waits, now)].map(({ name }) => name);
    parts.push(isWhole ? now : { ...now, waitedForBy });
  }
  for (const schedule of waits) {
    const evaluators = schedule.evaluators.filter((name) => !taken().includes(name));
    const late = { step: snapshot.step, late: schedule.name };
    const part = scheduledEvaluation(run, snapshot, [{ ...schedule, evaluators }]);
    const own = { ...late, workflowId: evaluationId(run, late), waitedForBy: [schedule.name] };
    if (part) parts.push({ ...part, ...own, isQueued: true });
  }
  const left = [...new Set(skipped.flatMap(({ evaluators }) => evaluators))].filter(
    (name) => !taken().includes(name),
  );
  if (left.length === 0) return parts;
  const [first] = parts;
  if (now && first) return [{ ...first, skipped: left }, ...parts.slice(1)];
  return [...parts, ...skippedPart(run, snapshot, { skipped, left })];
}

/** Schedules that wait for their turn, some of whose evaluators are measured now for others: these go on for them. */
function sharing(
  waits: readonly EvaluationSchedule[],
  { evaluators }: PendingEvaluation,
): readonly EvaluationSchedule[] {
  const found = waits.filter((schedule) => schedule.evaluators.some((name) => evaluators.includes(name)));
  // In histories that were recorded before, they waited for nothing that others ran.
  return found.length > 0 && patched('queued-schedules-keep-shared-evaluators') ? found : [];
}

/** Nothing of it is measured. */
function skippedPart(
  run: string,
  snapshot: Snapshot,
  { skipped, left }: { readonly skipped: readonly EvaluationSchedule[]; readonly left: readonly string[] },
): PendingEvaluation[] {
  const part = scheduledEvaluation(run, snapshot, skipped);
  return part ? [{ ...part, evaluators: [], waitedForBy: [], skipped: left, isBlocking: false }] : [];
}

/** Evaluators that nobody else waits for. What was measured before training is never cancelled. */
function cancelledParts(state: TrainingState, schedule: string): CancelledPart[] {
  return state.pending
    .filter(
      (older) => isScheduled(older) && older.step > 0 && unfinishedOf(older).schedules.includes(schedule),
    )
    .map((older) => {
      const others = schedulesOf(state, older.step).filter(
        ({ name }) => name !== schedule && unfinishedOf(older).schedules.includes(name),
      );
      const evaluators = remainingOf(older).filter(
        (name) => !others.some((other) => other.evaluators.includes(name)),
      );
      return { schedule, older, evaluators };
    });
}

/** Shows what was left out, in cells and timeline. */
export function noteSkipped(
  state: TrainingState,
  { step, skipped = [], schedules }: PendingEvaluation,
): void {
  if (skipped.length === 0) return;
  rememberEvent(state, 'evaluation', `step ${step}: ${skipped.join(', ')} ${SKIPPED}`);
  rememberCells(
    state,
    skipped.map((evaluator): EvaluationCell => ({
      step,
      evaluator,
      schedules,
      status: 'skipped',
      error: SKIPPED,
    })),
  );
}

/** Tells earlier evaluations to end, and shows it. One that has just ended does not hear it. */
export async function makeRoom(
  state: TrainingState,
  newer: number,
  cancels: readonly CancelledPart[],
): Promise<void> {
  for (const { older, evaluators, schedule } of cancels) {
    freeSchedule(state, older.step, schedule);
    if (evaluators.length === 0) continue;
    const reason = `cancelled: the evaluation of step ${newer} took its place (overlap)`;
    const told = `told to end: the evaluation of step ${newer} takes its place (overlap)`;
    rememberEvent(state, 'evaluation', `step ${older.step}: ${evaluators.join(', ')} ${told}`);
    try {
      await getExternalWorkflowHandle(older.workflowId).signal(cancelEvaluatorsSignal, {
        evaluators,
        reason,
      });
    } catch (error) {
      log.warn('an evaluation was not told to end', {
        workflowId: older.workflowId,
        reason: failureMessage(error),
      });
    }
  }
}

/** The first that may begin: no earlier evaluation of its schedules goes on. */
export function nextQueued({ pending }: TrainingState): PendingEvaluation | null {
  const isFree = (waiting: PendingEvaluation, index: number) =>
    !pending
      .slice(0, index)
      .some((other) => isScheduled(other) && sharesSchedule(unfinishedOf(other), unfinishedOf(waiting)));
  return pending.find((waiting, index) => waiting.isQueued === true && isFree(waiting, index)) ?? null;
}

function sharesSchedule(one: UnfinishedEvaluation, other: UnfinishedEvaluation): boolean {
  return one.schedules.some((name) => other.schedules.includes(name));
}

/** A schedule waits no longer for its evaluators at a step; others do. */
function freeSchedule(state: TrainingState, step: number, schedule: string): void {
  state.pending = state.pending.map((pending) => {
    if (!isScheduled(pending) || pending.step !== step || pending.late !== undefined) return pending;
    const waitedForBy = (pending.waitedForBy ?? pending.schedules).filter((name) => name !== schedule);
    const isBlocking = schedulesOf(state, step).some(
      ({ name, mode }) => mode === 'blocking' && waitedForBy.includes(name),
    );
    return { ...pending, waitedForBy, isBlocking };
  });
}

/** What a schedule asked for in an evaluation that goes on for others; null where it is known already. */
export function partOf(
  state: TrainingState,
  { part, cells, ...identity }: EvaluationFinished,
): PendingEvaluation | null {
  const whole = state.pending.find((one) => isSameEvaluation(one, identity));
  if (!whole || part === undefined || whole.told?.includes(part)) return null;
  const asked = schedulesOf(state, whole.step).find(({ name }) => name === part)?.evaluators ?? [];
  const recorded = whole.recorded?.filter((name) => asked.includes(name)) ?? [];
  const evaluators = [...new Set([...recorded, ...cells.map(({ evaluator }) => evaluator)])];
  return { ...whole, schedules: [part], evaluators, skipped: [], isCheckpoint: true };
}

/** The results of a schedule are written; its evaluation goes on for others. */
export function closePart(state: TrainingState, part: PendingEvaluation): void {
  const [schedule = ''] = part.schedules;
  freeSchedule(state, part.step, schedule);
  state.pending = state.pending.map((pending) =>
    isSameEvaluation(pending, part) ? { ...pending, told: [...(pending.told ?? []), schedule] } : pending,
  );
}

/** The result of an evaluation with the evaluators that were left out of it. */
export function withSkipped(
  finished: EvaluationFinished,
  pending: readonly PendingEvaluation[],
): EvaluationFinished {
  const { skipped = [] } =
    pending.find((one) => isScheduled(one) && one.step === finished.step && finished.request === undefined) ??
    {};
  if (skipped.length === 0) return finished;
  const at = new Date().toISOString();
  const cells = skipped.map((evaluator): CellResult => ({
    ...{ evaluator, scores: [], at },
    error: SKIPPED,
    omission: 'skipped',
  }));
  return { ...finished, cells: [...finished.cells, ...cells] };
}

/** Without schedules whose results are written already, and what only they asked for. */
export function untold(state: TrainingState, pending: PendingEvaluation): PendingEvaluation {
  const { told = [], schedules, evaluators, step } = pending;
  if (told.length === 0) return pending;
  const others = schedules.filter((name) => !told.includes(name));
  const asked = schedulesOf(state, step).filter(({ name }) => others.includes(name));
  const isAsked = (evaluator: string) => asked.some((schedule) => schedule.evaluators.includes(evaluator));
  return { ...pending, schedules: others, evaluators: evaluators.filter(isAsked) };
}
