import type { ScoreRow } from './run';

type Rated = Pick<ScoreRow, 'step' | 'metric' | 'value' | 'higherIsBetter' | 'at'>;

/**
 * The score a run is known by: the newest one of a metric that rises as the model gets better, else the newest one. null where
 * there is none; an evaluator that failed has none.
 */
export function headlineScore<Row extends Rated>(scores: readonly Row[]): Row | null {
  return scores.reduce<Row | null>(
    (best, row) => (row.value !== null && isBefore(best, row) ? row : best),
    null,
  );
}

function isBefore(best: Rated | null, row: Rated): boolean {
  if (best === null) return true;
  const rises = [best, row].map(({ higherIsBetter }) => Number(higherIsBetter === true));
  if (rises[0] !== rises[1]) return (rises[1] ?? 0) > (rises[0] ?? 0);
  if (best.step !== row.step) return row.step > best.step;
  return row.at >= best.at;
}
