import { REINFORCEMENT_METRIC_KEYS as KEYS } from '../../core/reinforcement/reinforcement-metric-keys';
import { shellWord } from '../../core/shell-word';
import type { MetricsRow } from '../../core/run';

const PREFIX = 'rollout_errors/';
const SUMS: readonly string[] = [KEYS.rolloutErrors, KEYS.skippedGroups];

/** What is said of a run of which rollouts failed, those that a retry made good included; null where none did. */
export function failedRollouts(run: string, metrics: readonly MetricsRow[]): string | null {
  const last = metrics.findLast((row) => sumOf([row], KEYS.rolloutErrors) > 0);
  if (!last) return null;
  const types = [...new Set(metrics.flatMap((row) => Object.keys(row)))].filter(
    (key) => key.startsWith(PREFIX) && !SUMS.includes(key),
  );
  const counts = types.map((key) => `${key.slice(PREFIX.length)} ${sumOf(metrics, key)}`);
  const total = sumOf(metrics, KEYS.rolloutErrors);
  const skipped = sumOf(metrics, KEYS.skippedGroups);
  const attempts = total === 1 ? '1 attempt at a rollout' : `${total} attempts at rollouts`;
  const groups = skipped === 1 ? '1 group' : `${skipped} groups`;
  const left = skipped === 0 ? '' : `, and ${groups} came to nothing`;
  return `${attempts} failed (${counts.join(', ')})${left}. \`everstep runs rollouts ${shellWord(run)} --step ${last.step}\` says with what.`;
}

function sumOf(metrics: readonly MetricsRow[], key: string): number {
  return metrics.reduce((sum, row) => sum + (row[key] ?? 0), 0);
}
