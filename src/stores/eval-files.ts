import type { Regrading, TakenAnswers } from '../core/result-origin';

/* What the files of benchmark results hold; eval-store.ts draws where they lie. */

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
  /** From 0, where an example was sampled several times. */
  readonly sample_index?: number;
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
  /** Days between which the examples are dated, where it was limited to them. */
  readonly startDate?: string;
  readonly endDate?: string;
  readonly promptHash: string;
  readonly graderVersion: string;
  readonly sampling: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly checkpoint: string;
  /** Who judged, for benchmarks that are judged by models. */
  readonly judges?: readonly object[];
}

/** `result.json`. Errors and truncations count 0 in `score` and are left out of `score_completed`. */
export interface StoredResult {
  readonly name: string;
  readonly score: number;
  readonly stderr: number | null;
  /** 95 %. */
  readonly ci: readonly [number, number] | null;
  /** Only where examples hang together: clusters that `stderr` and `ci` count. */
  readonly num_clusters?: number;
  readonly score_completed: number | null;
  readonly num_examples: number;
  readonly num_completed: number;
  /** Those with a score above 0, as tinker-cookbook counts: with scores between 0 and 1 a part is enough. */
  readonly num_correct: number;
  readonly num_errors: number;
  readonly num_truncated: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly time_seconds: number;
  readonly pass_at_k: Readonly<Record<string, number>>;
  readonly identity: ResultIdentity;
  /** How often its answers were graded again, the oldest first; absent where never. */
  readonly regraded?: readonly Regrading[];
  /** Where some answers were taken from another eval run. */
  readonly answers?: TakenAnswers;
  /** false for measures that fall as a model gets better, such as perplexity; absent for all others. */
  readonly higher_is_better?: boolean;
}
