import type { RunReport } from '../../client/run-report';
import type { ScoreRow } from '../../core/run';
import { formatNumber } from '../number-format';

export interface Verdict {
  readonly isGood: boolean;
  readonly text: string;
}

/** What the shipped recipes reach on pairs that are in no training data. */
export const WANTED_ACCURACY = { sft: 0.95, rl: 0.9 } as const;

/** Whether the demo showed what it promises: the run completed, and the model adds numbers it has never seen added. */
export function judgeDemo(
  { status, step, totalSteps }: RunReport,
  scores: readonly ScoreRow[],
  { isShortened, wanted = WANTED_ACCURACY.sft }: { readonly isShortened: boolean; readonly wanted?: number },
): Verdict {
  if (status !== 'completed')
    return { isGood: false, text: `The run did not complete: it is ${status} at step ${step}.` };
  const final = scores
    .filter((row) => row.metric === 'accuracy' && row.step === totalSteps && row.value !== null)
    .sort((left, right) => right.n - left.n)[0];
  if (!final || final.value === null) return { isGood: false, text: 'The final weights were not scored.' };

  const accuracy = `Accuracy on ${final.n} pairs it never saw: ${formatNumber(final.value)}.`;
  if (final.value > wanted) return { isGood: true, text: accuracy };
  if (isShortened) return { isGood: true, text: `${accuracy} With all its steps it ends above ${wanted}.` };
  return { isGood: false, text: `${accuracy} It should have ended above ${wanted}.` };
}
