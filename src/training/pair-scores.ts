import { dirname } from 'node:path';
import { DomainError } from '../core/errors';
import type { PairedDifference } from '../core/statistics/paired-difference';
import { pairedDifference } from '../core/statistics/paired-difference';
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

/** The difference of an evaluator's scores at two steps, on the examples of both; null where it keeps no examples. */
export async function pairScores(
  store: RunStore,
  { run, evaluator, step, otherStep, difference }: PairScoresInput,
): Promise<PairedScores | null> {
  await requireRun(store, run);
  try {
    const [scores, others] = await Promise.all(
      [step, otherStep].map(async (each) => {
        const folder = dirname(store.cellFolder(run, each, evaluator));
        return (await readExampleScores(folder, evaluator, { completedOnly: false })).scores;
      }),
    );
    const pairs = [...(scores ?? [])].flatMap(([example, score]): [number, number][] => {
      const other = others?.get(example);
      return other === undefined ? [] : [[score, other]];
    });
    const paired = pairedDifference(pairs);
    if (paired === null || Math.abs(paired.difference - difference) > ROUNDING) return null;
    return { difference: paired.difference, standardError: paired.standardError, n: paired.n };
  } catch (error) {
    // Evaluators without examples, e.g. `nll`, write no result that could be read.
    if (error instanceof DomainError && error.code === 'bad-dataset') return null;
    throw error;
  }
}
