import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { carriedChanges } from '../core/controls/carried-changes';
import { schedulesAt } from '../core/controls/schedule-change';
import { hasErrorCode } from '../core/error-code';
import type { EvaluationCell, RunState } from '../core/run';
import { dueByJournals } from '../core/schedules/due-by-journals';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import type * as Recorded from '../training/recorded-schedules';
import type { RunRecord } from '../training/run-folder';
import type { RunRecords } from './run-records';

/**
 * Evaluations of an open run that have no result, as its config, what people changed and its folder have them: for when the workflow does not
 * answer. What somebody asked for is known once it has begun.
 */
export async function dueCells(
  records: RunRecords,
  state: RunState,
  final: readonly EvaluationCell[],
): Promise<EvaluationCell[]> {
  const schedules = await knownSchedules(records, state.run);
  const controls = schedules.length > 0 ? await records.readControls(state.run) : [];
  const { totalSteps } = state;
  const { scheduleChanges } = carriedChanges(controls, { totalSteps, evaluations: schedules });
  const begun = await begunCells(records.runFolder(state.run));
  const isDue = dueByJournals({
    totalSteps,
    sent: schedules.length > 0 ? await records.readSent(state.run) : [],
    begun: new Set(begun.map(({ step, evaluator }) => `${step}/${evaluator}`)),
  });
  const dueAt = (step: number) =>
    schedulesAt(schedules, scheduleChanges, step).filter((schedule) => isDue(schedule, step));
  const planned = plannedCells(dueAt, state);
  const identity = ({ step, evaluator }: Pick<EvaluationCell, 'step' | 'evaluator'>) =>
    JSON.stringify([step, evaluator]);
  const due = new Map([...begun, ...planned].map((cell) => [identity(cell), cell]));
  for (const cell of final) due.delete(identity(cell));
  return [...due.values()];
}

/** None of a run that is not prepared, or that another version prepared: what it has begun is known all the same. */
async function knownSchedules(records: RunRecords, run: string): Promise<readonly EvaluationSchedule[]> {
  try {
    return schedulesOf(await records.readConfig<RunRecord>(run));
  } catch {
    return [];
  }
}

function schedulesOf(record: RunRecord): readonly EvaluationSchedule[] {
  // The catalogue of benchmarks takes longer to load than most commands to run.
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
  const { recordedSchedules } = require('../training/recorded-schedules') as typeof Recorded;
  return recordedSchedules(record);
}

/** A `state.json` may be somebody else's, and say any step. */
const MOST_STEPS = 200_000;

/** Up to the last step, of so many before it. */
function plannedCells(
  dueAt: (step: number) => readonly EvaluationSchedule[],
  { step: last }: RunState,
): EvaluationCell[] {
  const cells = new Map<string, EvaluationCell>();
  for (let step = Math.max(0, last - MOST_STEPS); step <= last; step++) {
    for (const { name, evaluators } of dueAt(step)) {
      for (const evaluator of evaluators) {
        const identity = JSON.stringify([step, evaluator]);
        const others = cells.get(identity)?.schedules ?? [];
        cells.set(identity, { step, evaluator, schedules: [...others, name], status: 'due' });
      }
    }
  }
  return [...cells.values()];
}

async function begunCells(runFolder: string): Promise<EvaluationCell[]> {
  const folder = path.join(runFolder, 'evals');
  const steps = (await foldersIn(folder)).filter((name) => /^\d+$/.test(name));
  const cells = await Promise.all(
    steps.map(async (step) =>
      (await foldersIn(path.join(folder, step))).map(
        (evaluator) => ({ step: Number(step), evaluator, schedules: [], status: 'due' }) as const,
      ),
    ),
  );
  return cells.flat();
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
