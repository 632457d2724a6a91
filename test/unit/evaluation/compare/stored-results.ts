import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResultIdentity, StoredResult, StoredTrajectory } from '../../../../src/stores/eval-store';

const IDENTITY: ResultIdentity = {
  benchmarkVersion: 1,
  dataHash: 'data-1',
  promptHash: 'prompt-1',
  graderVersion: 'exactMatch@1',
  sampling: { temperature: 0, maxTokens: 8 },
  model: 'everstep/tiny',
  checkpoint: 'tinker://x',
};

export type Row = Pick<StoredTrajectory, 'example_id' | 'reward'> & Partial<StoredTrajectory>;

/** Rows `e0`, `e1`, … with these rewards. */
export function rowsOf(rewards: readonly number[]): Row[] {
  return rewards.map((reward, index) => ({ example_id: `e${index}`, reward }));
}

export interface StoredBenchmark {
  readonly rows: readonly Row[];
  readonly identity?: Partial<ResultIdentity>;
  /** Put into result.json as they are. */
  readonly result?: Partial<StoredResult>;
}

/** Writes a benchmark's files as the runner does. */
export function storeBenchmark(
  folder: string,
  benchmark: string,
  { rows, identity, result }: StoredBenchmark,
): void {
  const target = join(folder, benchmark);
  mkdirSync(target, { recursive: true });
  const lines = rows.map((row, idx) => `${JSON.stringify(trajectoryOf(benchmark, idx, row))}\n`);
  writeFileSync(join(target, 'trajectories.jsonl'), lines.join(''));
  const stored: StoredResult = {
    name: benchmark,
    score: rows.reduce((total, { reward }) => total + reward, 0) / Math.max(1, rows.length),
    stderr: 0.1,
    ci: [0.2, 0.8],
    score_completed: null,
    num_examples: rows.length,
    num_completed: rows.length,
    num_correct: rows.filter(({ reward }) => reward > 0).length,
    num_errors: 0,
    num_truncated: 0,
    metrics: {},
    time_seconds: 2,
    pass_at_k: { '1': 0.5 },
    identity: { ...IDENTITY, ...identity },
    ...result,
  };
  writeFileSync(join(target, 'result.json'), JSON.stringify(stored));
}

function trajectoryOf(benchmark: string, idx: number, row: Row): StoredTrajectory {
  return { idx, benchmark, turns: [], metrics: {}, logs: {}, error: null, time_seconds: 1, ...row };
}
