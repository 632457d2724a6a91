import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { carriedChanges } from '../core/controls/carried-changes';
import { schedulesAt } from '../core/controls/schedule-change';
import type { EvaluationCell, RunState } from '../core/run';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import { schedulesDueAt } from '../core/schedules/evaluation-schedule';
import { hasErrorCode } from '../stores/system-errors';
import type * as Recorded from '../training/recorded-schedules';
import type { RunRecord } from '../training/run-folder';
import type { RunRecords } from './run-records';

/**
 * Evaluations of an open run that have no result, as its config, what people changed and its folder have them: for when the workflow does not
 * answer. What is due by tokens, by the clock, or because somebody asked is known once it has begun.
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
  const planned = plannedCells((step) => schedulesAt(schedules, scheduleChanges, step), state);
  const begun = await begunCells(records.runFolder(state.run));
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

function plannedCells(
  schedulesOfStep: (step: number) => readonly EvaluationSchedule[],
  { step: last, totalSteps }: RunState,
): EvaluationCell[] {
  const cells = new Map<string, EvaluationCell>();
  for (let step = 0; step <= last; step++) {
    const schedules = schedulesOfStep(step);
    const names = schedulesDueAt(schedules, { step, totalSteps, tokensBefore: 0, tokensAfter: 0 });
    for (const { name, evaluators } of schedules.filter((schedule) => names.includes(schedule.name))) {
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
