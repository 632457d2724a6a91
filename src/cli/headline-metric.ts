import type { MetricsRow } from '../core/run';

interface Headline {
  readonly label: string;
  readonly value: number;
}

/** What a kind of training is watched by, the first of them that a row has. */
const HEADLINES: readonly (readonly [key: string, label: string])[] = [
  ['train/nll', 'nll'],
  ['env/all/reward/total', 'reward'],
];

/** The number of a step that people watch: the loss, or the reward. */
export function headlineOf(row: MetricsRow | null): Headline | null {
  for (const [key, label] of HEADLINES) {
    const value = row?.[key];
    if (typeof value === 'number' && row?.['env/all/total_episodes'] !== 0) return { label, value };
  }
  return null;
}
