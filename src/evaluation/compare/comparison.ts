import type { Interval } from '../../core/statistics/wilson-interval';

/** Two results of one benchmark or loss on the examples both have. `a`, `b`: as they were asked for. */
export interface Comparison {
  readonly a: string;
  readonly b: string;
  readonly benchmark: string;
  /** false for measures that fall as a model gets better, such as a loss. */
  readonly higherIsBetter: boolean;
  /** Examples that both have. */
  readonly n: number;
  /** Mean over these examples, each first averaged over its samples; of a loss the ratio of sums over them. */
  readonly scoreA: number;
  readonly scoreB: number;
  /** A − B. */
  readonly difference: number;
  /** Of the paired difference, clustered where `clusterCount` says so; null with a single example. */
  readonly standardError: number | null;
  /** null where the differences do not vary. */
  readonly z: number | null;
  /** Two-sided, of z; of the exact sign test where there is no z. */
  readonly pValue: number;
  /** `pValue` corrected for all comparisons made together. */
  readonly pAdjusted: number;
  /** What the verdict goes by: the larger of `pValue` and that of a test which is right for few examples, corrected in the same way. */
  readonly pDecision: number;
  /** 95 %, of the difference. */
  readonly interval: Interval | null;
  /** null where scores are not 0 or 1. */
  readonly mcnemar: McnemarResult | null;
  /** Examples that A did better, worse, the same. */
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
  readonly verdict: string;
  /** Clusters that the standard error counts in place of examples; absent where examples stand by themselves. */
  readonly clusterCount?: number;
}

export interface McnemarResult {
  readonly onlyA: number;
  readonly onlyB: number;
  /** Exact, two-sided, not corrected. */
  readonly pValue: number;
}

/** An example that A and B scored differently. */
export interface FlippedExample {
  readonly exampleId: string;
  readonly scoreA: number;
  readonly scoreB: number;
}

export interface DetailedComparison extends Comparison {
  /** The largest differences first. */
  readonly flipped: readonly FlippedExample[];
}

export interface ComparedPlace {
  readonly label: string;
  readonly folder: string;
}

export interface ComparisonReport {
  readonly comparisons: readonly DetailedComparison[];
  /** Where what was asked for was found. */
  readonly places: readonly ComparedPlace[];
  /** What a reader must know before believing the numbers. */
  readonly warnings: readonly string[];
}

export const CORRECTIONS = ['holm', 'bh', 'none'] as const;
export type Correction = (typeof CORRECTIONS)[number];

/** Says of benchmarks of a folder that have no result why, each in a sentence; of those that it knows nothing of, nothing. */
export type WhyUnfinished = (
  folder: string,
  benchmarks: readonly string[],
) => Promise<ReadonlyMap<string, string>>;

export interface CompareOptions {
  /** Names are looked up in this store; without one, results are folders. */
  readonly store?: string;
  /** Only these benchmarks. */
  readonly benchmarks?: readonly string[];
  /** For the number of comparisons; Holm's unless told. */
  readonly correction?: Correction;
  /** Leave examples out that failed or were cut on either side, instead of counting them 0. */
  readonly completedOnly?: boolean;
  /** Asked where a side has benchmarks without a result: the server knows more of them than the files say. */
  readonly whyUnfinished?: WhyUnfinished;
}
