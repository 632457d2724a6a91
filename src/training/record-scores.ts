import { REQUESTED_SCHEDULE } from '../core/controls/evaluation-request';
import type { CellOmission, CellScore, ScoreRow } from '../core/run';
import { isSameEvaluation } from '../core/same-evaluation';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import { REWARD_ALARM, watchReward } from '../core/reinforcement/reward-watch';
import type { RunStore } from '../stores/run-store';
import { requireOwner } from './require-owner';
import { requireRun } from './run-folder';

export interface FinishedCell {
  readonly evaluator: string;
  readonly scores: readonly CellScore[];
  readonly at: string;
  readonly error?: string;
  /** It was left out or ended for another one; `error` says which. */
  readonly omission?: CellOmission;
  /** Not scored yet: its answers are run, which is for workers with the role `grading`. */
  readonly isForGrading?: true;
  /** Of its activity, where the worker of the attempt before was lost with the cell in hand. */
  readonly attempt?: number;
}

export interface RecordScoresInput {
  readonly run: string;
  /** Rises with every write; the first part of the writer's lease. */
  readonly write: number;
  readonly finished: readonly FinishedCells[];
  readonly schedules: readonly EvaluationSchedule[];
  readonly evaluations: readonly EvaluationToSettle[];
}

export interface FinishedCells {
  readonly step: number;
  /** Which one of those that people asked for; absent where a schedule did. */
  readonly request?: number;
  readonly late?: string;
  readonly cells: readonly FinishedCell[];
}

export interface EvaluationToSettle {
  readonly step: number;
  readonly request?: number;
  readonly late?: string;
  /** The schedules as they were at its step, where somebody changed them. */
  readonly scheduledAs?: readonly EvaluationSchedule[];
  readonly schedules: readonly string[];
  /** Evaluators whose rows were written while others went on: those stay, whatever a repeated evaluation says. */
  readonly recorded?: readonly string[];
  readonly samplerPath: string;
  readonly isCheckpoint: boolean;
}

/**
 * Writes scores, one row for each schedule that asked. Rows that are there already stay: a cell is scored once. Returns the rows of
 * all that was given, and of what had been recorded of these evaluations before.
 */
export async function recordScores(
  store: RunStore,
  input: RecordScoresInput,
  epoch: number,
): Promise<readonly ScoreRow[]> {
  await requireRun(store, input.run);
  await requireOwner(store, input.run, epoch);
  const journal = await store.openJournal(input.run, 'scores', { epoch });
  try {
    const given = input.finished.flatMap((finished) => rowsOf(input, finished));
    const earlier = await store.readScores(input.run);
    const rows = given.map((row) => ({ ...row, ...changeRemark(row, earlier) }));
    const alarms = await rewardAlarms(store, input.run, rows);
    for (const row of [...rows, ...alarms]) journal.append(row);
    return [...recordedRows(input, earlier), ...rows, ...alarms];
  } finally {
    await journal.close();
  }
}

function recordedRows({ evaluations }: RecordScoresInput, stored: readonly ScoreRow[]): ScoreRow[] {
  const isRecorded = ({ step, schedule, evaluator }: ScoreRow) =>
    evaluations.some(
      ({ recorded, ...one }) =>
        one.step === step && one.schedules.includes(schedule) && recorded?.includes(evaluator) === true,
    );
  return stored.filter(isRecorded);
}

/** An evaluator whose examples or grader were changed while the run went on is told of beside its score. */
function changeRemark(row: ScoreRow, earlier: readonly ScoreRow[]): Pick<ScoreRow, 'remark'> {
  const before = earlier.findLast(
    ({ evaluator, metric, step }) =>
      evaluator === row.evaluator && metric === row.metric && step !== row.step,
  );
  if (before?.data === undefined || row.data === undefined) return {};
  const changed = [
    ...(before.data === row.data ? [] : ['its examples']),
    ...(before.grader === row.grader ? [] : ['its grader']),
  ];
  if (changed.length === 0) return {};
  const remark = `${row.evaluator}: ${changed.join(' and ')} changed since step ${before.step}: its scores cannot be compared with those up to there.`;
  return { remark: [row.remark, remark].filter((text) => text !== undefined).join(' ') };
}

/** Of reinforcement runs: a score that fell while the reward rose is told beside it. */
async function rewardAlarms(store: RunStore, run: string, rows: readonly ScoreRow[]): Promise<ScoreRow[]> {
  const state = await store.readState(run);
  if (state?.kind !== 'rl') return [];
  const [earlier, metrics] = await Promise.all([store.readScores(run), store.readMetrics(run)]);
  return rows.flatMap((row): ScoreRow[] => {
    const alarm = watchReward(row, earlier, metrics);
    if (alarm === null) return [];
    const { step, schedule, evaluator, metric, key, n, at } = row;
    const about = { metric: `${REWARD_ALARM}/${metric}`, key: `${REWARD_ALARM}/${key}` };
    const base = { step, schedule, evaluator, n, at };
    return [{ ...base, ...about, value: 1, stderr: null, higherIsBetter: false, remark: alarm.text }];
  });
}

function rowsOf(input: RecordScoresInput, finished: FinishedCells): ScoreRow[] {
  const { step, request } = finished;
  const asked = input.evaluations.find((other) => isSameEvaluation(other, finished));
  const cells = finished.cells.filter(({ evaluator }) => asked?.recorded?.includes(evaluator) !== true);
  if (request !== undefined) {
    return cells.flatMap((cell) =>
      cellRows({ step, schedule: REQUESTED_SCHEDULE, evaluator: cell.evaluator, at: cell.at }, cell),
    );
  }
  const schedules = (asked?.scheduledAs ?? input.schedules).filter(({ name }) =>
    asked?.schedules.includes(name),
  );
  return schedules.flatMap((schedule) =>
    cells
      .filter(({ evaluator }) => schedule.evaluators.includes(evaluator))
      .flatMap((cell) =>
        cellRows({ step, schedule: schedule.name, evaluator: cell.evaluator, at: cell.at }, cell),
      ),
  );
}

function cellRows(
  base: Pick<ScoreRow, 'step' | 'schedule' | 'evaluator' | 'at'>,
  cell: FinishedCell,
): ScoreRow[] {
  if (cell.error !== undefined) {
    const metric = cell.omission ?? 'error';
    return [
      {
        ...base,
        metric,
        key: `${cell.evaluator}/${metric}`,
        value: null,
        stderr: null,
        n: 0,
        higherIsBetter: null,
        error: cell.error,
      },
    ];
  }
  return cell.scores.map((score) => ({ ...base, ...score }));
}
