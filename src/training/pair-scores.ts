import { dirname } from 'node:path';
import { DomainError } from '../core/errors';
import type { PairedDifference } from '../core/statistics/paired-difference';
import { compareScores } from '../evaluation/compare/compare-scores';
import { readExampleScores } from '../evaluation/compare/example-scores';
import type { RunStore } from '../stores/run-store';
import { requireRun } from './run-folder';

export interface PairScoresInput {
  readonly run: string;
  readonly evaluator: string;
  readonly step: number;
  /** What is subtracted. */
  readonly otherStep: number;
  /** Of the reported scores; examples that do not add up to it say something else. */
  readonly difference: number;
}

const ROUNDING = 1e-9;

export type PairedScores = Pick<PairedDifference, 'difference' | 'standardError' | 'n'>;

/**
 * The difference of an evaluator's scores at two steps, on the examples of both, with the error that comparing them has;
 * null where it keeps no examples.
 */
export async function pairScores(
  store: RunStore,
  { run, evaluator, step, otherStep, difference }: PairScoresInput,
): Promise<PairedScores | null> {
  await requireRun(store, run);
  try {
    const readAt = (each: number) =>
      readExampleScores(dirname(store.cellFolder(run, each, evaluator)), evaluator, { completedOnly: false });
    const [now, before] = await Promise.all([readAt(step), readAt(otherStep)]);
    const clusters = new Map([...before.clusters, ...now.clusters]);
    const paired = compareScores(now.scores, before.scores, { clusters });
    if (paired === null || Math.abs(paired.difference - difference) > ROUNDING) return null;
    return { difference: paired.difference, standardError: paired.standardError, n: paired.n };
  } catch (error) {
    // Evaluators without examples, e.g. `nll`, write no result that could be read.
    if (error instanceof DomainError && error.code === 'bad-dataset') return null;
    throw error;
  }
}
