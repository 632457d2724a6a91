import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { validateName } from '../core/names';
import type { ResultIdentity, StoredResult, StoredTrajectory } from './eval-files';
import { readLineGroups } from './line-groups';
import { readJson, readJsonIfThere, writeJson, writeWholeFile } from './whole-file';
import { readTrajectory } from './read-trajectory';
import { openToReadSync } from './reading';
import { hasTypesOfResult } from './result-types';

/*
 * Files of benchmark results, as tinker-cookbook's loaders read them:
 *
 * ```
 * <folder>/summary.json
 * <folder>/<benchmark>/result.json
 * <folder>/<benchmark>/trajectories.jsonl
 * <folder>/<benchmark>/gradings/<n>/           result and trajectories before the n-th time they were graded again
 * <folder>/<benchmark>/journal/                what makes resuming exact; no loader reads it
 * ```
 */

export type { ResultIdentity, StoredResult, StoredTrajectory, StoredTurn } from './eval-files';

export interface SummaryEntry {
  readonly score: number;
  readonly num_examples: number;
  readonly num_correct: number;
  readonly num_errors: number;
  readonly pass_at_k?: Readonly<Record<string, number>>;
}

export interface TrajectoryFilter {
  readonly correctOnly?: boolean;
  /** Answered whole and wrong; errors, cut answers and those without a readable verdict are neither right nor wrong. */
  readonly incorrectOnly?: boolean;
  readonly errorsOnly?: boolean;
  /** Cut at the token limit, or never asked because the prompt was too long. */
  readonly truncatedOnly?: boolean;
  /** No judge's verdict on it could be read, so that it has no score. */
  readonly unparsedOnly?: boolean;
}

export interface StreamOptions extends TrajectoryFilter {
  /** Hears of each line that is no trajectory, torn ones among them. */
  readonly onMalformed?: () => void;
}

/** What a result says of its making when another tool wrote it: nothing. */
const UNKNOWN_IDENTITY: ResultIdentity = {
  benchmarkVersion: 0,
  dataHash: '',
  promptHash: '',
  graderVersion: '',
  sampling: {},
  model: '',
  checkpoint: '',
};

/** null when the benchmark has no result in this folder, or none that can be read. What other tools leave out of theirs is derived or empty. */
export async function loadResult(folder: string, benchmark: string): Promise<StoredResult | null> {
  const stored = await readJsonIfThere<Partial<StoredResult>>(
    join(benchmarkFolder(folder, benchmark), 'result.json'),
  );
  if (typeof stored?.score !== 'number' || !hasTypesOfResult(stored)) return null;
  const result = {
    ...EMPTY_RESULT,
    ...given(stored),
    ...{ name: stored.name ?? benchmark, score: stored.score },
    identity: { ...UNKNOWN_IDENTITY, ...given(stored.identity ?? {}) },
  };
  const completed = result.num_examples - result.num_errors - result.num_truncated;
  return {
    ...result,
    num_completed: stored.num_completed ?? completed,
    score_completed: stored.score_completed ?? (completed > 0 ? result.num_correct / completed : null),
  };
}

const EMPTY_RESULT = {
  stderr: null,
  ci: null,
  num_examples: 0,
  num_correct: 0,
  num_errors: 0,
  num_truncated: 0,
  metrics: {},
  time_seconds: 0,
  pass_at_k: {},
};

/** Null says as little as a key that is not there. */
function given<Fields extends object>(
  fields: Fields,
): Partial<{ [Key in keyof Fields]: NonNullable<Fields[Key]> }> {
  const known = { ...fields };
  for (const [key, value] of Object.entries(fields)) if (value === null) Reflect.deleteProperty(known, key);
  return known;
}

/** All at once, in memory; `streamTrajectories` has them one by one. Malformed lines are passed over. */
export async function loadTrajectories(
  folder: string,
  benchmark: string,
  filter: TrajectoryFilter = {},
): Promise<StoredTrajectory[]> {
  const trajectories: StoredTrajectory[] = [];
  for (const trajectory of streamTrajectories(benchmarkFolder(folder, benchmark), filter)) {
    trajectories.push(trajectory);
  }
  return trajectories;
}

/**
 * Trajectories of one benchmark's folder, read as they are asked for, so that any number fits in memory. None where the
 * file does not exist; malformed lines are passed over. A file with a line that is too long for any is refused.
 */
export function* streamTrajectories(
  folder: string,
  options: StreamOptions = {},
): Generator<StoredTrajectory> {
  for (const some of streamTrajectoriesInTurns(folder, options)) yield* some;
}

/** The same, some at a time: whoever serves others lets them have their turn in between, also where none of a part match. */
export function* streamTrajectoriesInTurns(
  folder: string,
  { onMalformed, ...filter }: StreamOptions = {},
): Generator<readonly StoredTrajectory[]> {
  for (const lines of readLines(join(folder, 'trajectories.jsonl'))) {
    yield lines.flatMap((line) => {
      const trajectory = readTrajectory(line);
      if (trajectory === null) onMalformed?.();
      return trajectory !== null && matches(trajectory, filter) ? [trajectory] : [];
    });
  }
}

/** Cut at the token limit, or never asked because the prompt was too long. */
export function isTruncated({ metrics }: Pick<StoredTrajectory, 'metrics'>): boolean {
  return (metrics['max_tokens_reached'] ?? 0) > 0 || (metrics['context_overflow'] ?? 0) > 0;
}

/** Why its environment ended it; null where that is not known. */
export function stopReasonOf({ logs }: Pick<StoredTrajectory, 'logs'>): string | null {
  const { stop_reason: reason } = logs;
  return typeof reason === 'string' && reason !== '' ? reason : null;
}

/** Where a benchmark's files lie. */
export function benchmarkFolder(folder: string, benchmark: string): string {
  return join(folder, validateName('Benchmark', benchmark));
}

/** Scores by benchmark; null when the folder has no summary. */
export function loadSummary(folder: string): Promise<Record<string, SummaryEntry> | null> {
  return readJson<Record<string, SummaryEntry>>(join(folder, 'summary.json'));
}

export async function writeSummary(folder: string, results: readonly StoredResult[]): Promise<void> {
  await writeJson(
    join(folder, 'summary.json'),
    Object.fromEntries(results.map((result) => [result.name, summaryOf(result)])),
  );
}

/** Writes one benchmark's files. The result comes last: where it is, the trajectories are whole. */
export async function writeBenchmark(
  targetFolder: string,
  result: StoredResult,
  trajectories: readonly StoredTrajectory[],
): Promise<void> {
  const lines = trajectories.map((trajectory) => `${JSON.stringify(trajectory)}\n`).join('');
  await writeWholeFile(join(targetFolder, 'trajectories.jsonl'), lines);
  await writeJson(join(targetFolder, 'result.json'), result);
}

function* readLines(path: string): Generator<readonly string[]> {
  const descriptor = openToReadSync(path);
  if (descriptor === null) return;
  try {
    yield* readLineGroups(descriptor, path);
  } finally {
    closeSync(descriptor);
  }
}

function matches(trajectory: StoredTrajectory, filter: TrajectoryFilter): boolean {
  const { reward, error } = trajectory;
  if (filter.errorsOnly && error === null) return false;
  if (filter.truncatedOnly && !isTruncated(trajectory)) return false;
  if (filter.unparsedOnly && !isUnread(trajectory)) return false;
  if (filter.correctOnly && reward <= 0) return false;
  return !filter.incorrectOnly || isWrong(trajectory);
}

function isWrong(trajectory: StoredTrajectory): boolean {
  const { reward, error } = trajectory;
  return reward <= 0 && error === null && !isTruncated(trajectory) && !isUnread(trajectory);
}

function isUnread({ metrics }: StoredTrajectory): boolean {
  return metrics['unparsed'] === 1;
}

function summaryOf({ score, num_examples, num_correct, num_errors, pass_at_k }: StoredResult): SummaryEntry {
  const passAtK = Object.keys(pass_at_k).length > 0 ? { pass_at_k } : {};
  return { score, num_examples, num_correct, num_errors, ...passAtK };
}
