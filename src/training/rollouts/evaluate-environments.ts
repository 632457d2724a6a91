import type { Rollout, RolloutGroup } from '../../core/reinforcement/rollout';
import { rolloutMetrics } from '../../core/reinforcement/rollout-metrics';
import type { EnvironmentDataset, EnvironmentGroup } from '../environments/environment-dataset';
import { allOrAbort } from '../../evaluation/all-or-abort';
import type { JudgedPlay } from './judged-play';
import type { RolloutOptions, RolloutSite } from './rollout-site';
import type { SampledGroup } from './sample-group';
import { sampleGroup } from './sample-group';
import { createSampleSeeds } from './sample-seeds';

export interface EnvironmentEvaluation {
  readonly dataset: EnvironmentDataset;
  /** The first so many problems; default: all. */
  readonly limit?: number;
  /** Rollouts a problem; default 1. */
  readonly groupSize?: number;
  /** Problems at once; default 32. */
  readonly concurrency?: number;
  readonly seed: number;
  readonly policyVersion: number;
}

export interface EvaluatedEnvironments {
  /** `test/env/all/reward/total` and the like: the field's names. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly totals: CorrectTotals;
  readonly rolloutCount: number;
  /** Of failed attempts at rollouts. */
  readonly errorTypes: readonly string[];
}

/** How many answers were right, by the field's names; a rollout that failed is not. Of environments that say `correct`. */
export interface CorrectTotals {
  readonly total_samples: number;
  readonly total_correct: number;
  readonly accuracy: number;
}

export interface EvaluationOptions extends Pick<RolloutOptions, 'signal'> {
  /** Rollouts of a problem that are there already, so that they are not sampled again. */
  readonly stored?: (index: number) => Promise<SampledGroup | null>;
  /** How problems are played that models judge. */
  readonly playJudged?: (index: number, group: EnvironmentGroup, signal: AbortSignal) => JudgedPlay | null;
  /** Hears of each problem as it is done, e.g. to keep its rollouts. */
  readonly onGroup?: (index: number, sampled: SampledGroup) => void | Promise<void>;
}

/**
 * Rolls out held-out environments and says what they were like. Greedy with the site's temperature at 0, else as the run
 * samples. The same problems with the same seeds every time, so that steps can be compared.
 */
export async function evaluateEnvironments(
  site: RolloutSite,
  evaluation: EnvironmentEvaluation,
  { signal, onGroup, stored, playJudged }: EvaluationOptions,
): Promise<EvaluatedEnvironments> {
  const { dataset, limit = Infinity, groupSize = 1, concurrency = 32, seed, policyVersion } = evaluation;
  const indices = Array.from({ length: Math.min(limit, dataset.length) }, (_, index) => index);
  const groups = await allOrAbort(indices, { signal, limit: concurrency }, async (index, inner) => {
    const group = dataset.groupAt(index);
    const judged = playJudged?.(index, group, inner) ?? null;
    const task = { group, groupSize, judged, seeds: createSampleSeeds(seed, index), policyVersion };
    const present = await stored?.(index);
    const sampled = present ?? (await sampleGroup(site, task, { signal: inner }));
    if (!present) await judged?.settle();
    await onGroup?.(index, sampled);
    await judged?.discard();
    return sampled;
  });
  return {
    metrics: testMetrics(groups),
    totals: correctTotals(groups, indices.length * groupSize),
    rolloutCount: groups.reduce((count, { rollouts }) => count + rollouts.length, 0),
    errorTypes: groups.flatMap(({ errorTypes }) => errorTypes),
  };
}

function testMetrics(groups: readonly RolloutGroup[]): Record<string, number> {
  const entries = Object.entries(rolloutMetrics(groups));
  return Object.fromEntries(entries.map(([key, value]) => [`test/${key}`, value]));
}

function correctTotals(groups: readonly RolloutGroup[], sampleCount: number): CorrectTotals {
  const rollouts = groups.flatMap((group) => group.rollouts);
  const correct = rollouts.reduce((sum, rollout) => sum + correctOf(rollout), 0);
  return {
    total_samples: sampleCount,
    total_correct: correct,
    accuracy: sampleCount === 0 ? 0 : correct / sampleCount,
  };
}

/** Of the turn that ended the rollout, or of the grade after a limit did. */
function correctOf({ metrics, transitions }: Rollout): number {
  return metrics['correct'] ?? transitions.at(-1)?.metrics['correct'] ?? 0;
}
