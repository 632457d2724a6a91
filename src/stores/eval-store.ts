import { join } from 'node:path';
import { readJsonLines } from './json-lines';
import { readJson, writeJson, writeWholeFile } from './whole-file';

/*
 * Files of benchmark results, as tinker-cookbook's loaders read them:
 *
 * ```
 * <folder>/summary.json
 * <folder>/<benchmark>/result.json
 * <folder>/<benchmark>/trajectories.jsonl
 * <folder>/<benchmark>/journal/                what makes resuming exact; no loader reads it
 * ```
 */

export interface StoredTurn {
  readonly role: 'user' | 'assistant' | 'environment' | 'grader';
  readonly content: string;
  readonly token_count: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One line of `trajectories.jsonl`: one example as it went. */
export interface StoredTrajectory {
  readonly idx: number;
  readonly benchmark: string;
  readonly example_id: string;
  readonly turns: readonly StoredTurn[];
  readonly reward: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly logs: Readonly<Record<string, unknown>>;
  /** What went wrong, when the example could not be scored. */
  readonly error: string | null;
  readonly time_seconds: number;
}

/** What a score was made of: two results may be compared when all but `model` and `checkpoint` agree. */
export interface ResultIdentity {
  readonly benchmarkVersion: number;
  readonly dataHash: string;
  readonly promptHash: string;
  readonly graderVersion: string;
  readonly sampling: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly checkpoint: string;
}

/** `result.json`. Errors and truncations count 0 in `score` and are left out of `score_completed`. */
export interface StoredResult {
  readonly name: string;
  readonly score: number;
  readonly stderr: number | null;
  /** 95 %. */
  readonly ci: readonly [number, number] | null;
  readonly score_completed: number | null;
  readonly num_examples: number;
  readonly num_completed: number;
  readonly num_correct: number;
  readonly num_errors: number;
  readonly num_truncated: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly time_seconds: number;
  readonly pass_at_k: Readonly<Record<string, number>>;
  readonly identity: ResultIdentity;
}

export interface SummaryEntry {
  readonly score: number;
  readonly num_examples: number;
  readonly num_correct: number;
  readonly num_errors: number;
  readonly pass_at_k?: Readonly<Record<string, number>>;
}

export interface TrajectoryFilter {
  readonly correctOnly?: boolean;
  /** Scored and wrong; errors are neither. */
  readonly incorrectOnly?: boolean;
  readonly errorsOnly?: boolean;
}

/** null when the benchmark has no result in this folder. */
export function loadResult(folder: string, benchmark: string): Promise<StoredResult | null> {
  return readJson<StoredResult>(join(folder, benchmark, 'result.json'));
}

/** Malformed lines are passed over. */
export async function loadTrajectories(
  folder: string,
  benchmark: string,
  filter: TrajectoryFilter = {},
): Promise<StoredTrajectory[]> {
  const rows = await readJsonLines<StoredTrajectory>(join(folder, benchmark, 'trajectories.jsonl'));
  return rows.filter((row) => matches(row, filter));
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
  benchmarkFolder: string,
  result: StoredResult,
  trajectories: readonly StoredTrajectory[],
): Promise<void> {
  const lines = trajectories.map((trajectory) => `${JSON.stringify(trajectory)}\n`).join('');
  await writeWholeFile(join(benchmarkFolder, 'trajectories.jsonl'), lines);
  await writeJson(join(benchmarkFolder, 'result.json'), result);
}

function matches({ reward, error }: StoredTrajectory, filter: TrajectoryFilter): boolean {
  if (filter.errorsOnly && error === null) return false;
  if (filter.correctOnly && reward <= 0) return false;
  return !(filter.incorrectOnly && (reward > 0 || error !== null));
}

function summaryOf({ score, num_examples, num_correct, num_errors, pass_at_k }: StoredResult): SummaryEntry {
  const passAtK = Object.keys(pass_at_k).length > 0 ? { pass_at_k } : {};
  return { score, num_examples, num_correct, num_errors, ...passAtK };
}
