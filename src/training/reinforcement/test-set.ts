import type { EvaluatorConfig } from '../../config/evaluation-config';
import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import { WaitingReasons } from '../../core/concurrency/waiting-reasons';
import { DomainError } from '../../core/errors';
import { totalReward } from '../../core/reinforcement/rollout';
import type { Rollout, RolloutGroup } from '../../core/reinforcement/rollout';
import { isEventKey, rolloutMetrics } from '../../core/reinforcement/rollout-metrics';
import type { CellScore } from '../../core/run';
import type { Sampler } from '../../core/sampling';
import { clusteredStandardError } from '../../core/statistics/clustered-standard-error';
import type { Tokenizer } from '../../core/tokenizer';
import type { MeasuredModel } from '../../evaluation/evaluators/evaluation-context';
import type { JudgeAccess } from '../../evaluation/judges/judge-access';
import type { Renderer } from '../../renderers/renderer';
import { promptFormatOf } from '../../renderers/template-arguments';
import type { CorrectTotals } from '../rollouts/evaluate-environments';
import { evaluateEnvironments } from '../rollouts/evaluate-environments';
import { JudgedGroups } from '../rollouts/judged-groups';
import { openRolloutFiles } from '../rollouts/rollout-files';
import type { SampledGroup } from '../rollouts/sample-group';
import type { EnvironmentDataset } from '../environments/environment-dataset';
import { problemsHash } from './open-environments';
import type { SamplingRun } from './sampling-runs';
import { deviationsOf, standardDeviation } from './test-deviations';
import { rolloutRulesOf } from './rollout-site-of';
import type { PlayedTestSet } from './test-set-result';
import { correctOf, gradingDigest, measuresCorrect, writeTestSetResult } from './test-set-result';

export type TestSetConfig = Extract<EvaluatorConfig, { type: 'rlTestSet' }>;

export interface TestSetWork {
  readonly sampler: Sampler;
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  readonly contextLength: number;
  /** The cell's; rollouts are kept in it, in `rollouts/0`. */
  readonly folder: string;
  /** Steps behind the weights that are measured. */
  readonly step: number;
  /** The weights that are measured. */
  readonly model: MeasuredModel;
  /** The way to models that judge. */
  readonly judges?: JudgeAccess | undefined;
  readonly signal: AbortSignal;
  readonly onWaiting?: TellWaiting;
  /** Hears how many problems are done, with each. */
  readonly onGroup?: (doneCount: number) => void;
}

/**
 * Scores the held-out environments of a run on one snapshot, by the field's names, and leaves a benchmark's files beside the rollouts.
 *
 * Each problem's rollouts are kept when they are done: a repeated attempt samples what is missing.
 */
export async function evaluateTestSet(
  { config, dataset, environmentCode }: Pick<SamplingRun, 'config' | 'dataset' | 'environmentCode'>,
  evaluator: TestSetConfig,
  work: TestSetWork,
): Promise<CellScore[]> {
  const test = requireTest(dataset, evaluator);
  const startedAt = performance.now();
  const files = openRolloutFiles(work.folder);
  const groups = new Map<number, SampledGroup>();
  const waits = new WaitingReasons(work.onWaiting ?? (() => undefined));
  const judged = new JudgedGroups(work.judges, work.folder, { ...work, onWaiting: waits.part() });
  const play = async () => {
    try {
      return await evaluateEnvironments(
        {
          ...siteRules(config, evaluator),
          ...work,
          now: () => performance.now(),
          onWaiting: waits.part(),
        },
        {
          dataset: test,
          groupSize: evaluator.groupSize,
          concurrency: evaluator.concurrency,
          seed: config.seed,
          policyVersion: work.step,
          ...(evaluator.limit !== undefined && { limit: evaluator.limit }),
        },
        {
          signal: work.signal,
          stored: (group) => files.readGroup({ step: 0, group }),
          onGroup: async (group, sampled) => {
            groups.set(group, await files.write({ step: 0, group }, sampled));
            work.onGroup?.(groups.size);
          },
          playJudged: (group, played, signal) => judged.play(played, { place: { step: 0, group }, signal }),
        },
      );
    } finally {
      await judged.close();
    }
  };
  const { totals } = await play();
  const inOrder = [...groups].sort(([left], [right]) => left - right).map(([, group]) => group);
  const played = {
    ...asResult({ config, environmentCode }, evaluator, work),
    ...{ groups: inOrder, seconds: (performance.now() - startedAt) / 1000 },
  };
  await writeTestSetResult(work.folder, played, () => {
    work.signal.throwIfAborted();
  });
  const { groupSize } = evaluator;
  const graded = gradedBy({ dataset: test, environment: config.environment, code: environmentCode });
  const { isMixture } = played;
  const scores = scoresOf(evaluator.name, inOrder, { ...totals, groupSize, isMixture }).map((score) => ({
    ...score,
    ...graded,
  }));
  return evaluator.deviations ? [...scores, ...deviationsOf(inOrder)] : scores;
}

function requireTest({ test, name }: EnvironmentDataset, evaluator: TestSetConfig): EnvironmentDataset {
  if (test) return test;
  throw new DomainError(
    'bad-config',
    `evaluators: "${evaluator.name}" has nothing to measure: ${name} keeps no problems apart.`,
  );
}

interface Grading {
  readonly dataset: EnvironmentDataset;
  readonly environment: unknown;
  readonly code: string | null;
}

/** Code of a plug-in can change while a run goes on; ours cannot. */
function gradedBy({ dataset, environment, code }: Grading): Pick<CellScore, 'data' | 'grader'> {
  if (code === null) return {};
  return {
    data: problemsHash(dataset).slice(0, 16),
    grader: gradingDigest({ environment, code }).slice(0, 16),
  };
}

function asResult(
  { config, environmentCode }: Pick<SamplingRun, 'config' | 'environmentCode'>,
  { name, groupSize, ...evaluator }: TestSetConfig,
  { model, renderer }: TestSetWork,
): Omit<PlayedTestSet, 'groups' | 'seconds'> {
  const sampling = {
    temperature: evaluator.temperature ?? config.temperature,
    maxTokens: evaluator.maxTokens ?? config.maxTokens,
    numSamples: groupSize,
  };
  const { environment } = config;
  const identity = {
    ...{ environment, code: environmentCode },
    renderer: promptFormatOf(renderer),
    sampling,
    model: model.name,
    checkpoint: model.path,
  };
  return { name, groupSize, identity, isMixture: environment.type === 'mixture' };
}

function siteRules(config: ReinforcementConfig, { temperature, maxTokens }: TestSetConfig) {
  const rules = rolloutRulesOf(config);
  return {
    ...rules,
    // A problem whose rollout fails is measured by what is left, and says so in its rollouts.
    strategy: { type: 'min-viable', maxRetries: 3, minSuccessful: 1, isFilledUp: true } as const,
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { limits: { ...rules.limits, maxTurnTokens: maxTokens } }),
  };
}

interface Asked extends CorrectTotals, Pick<PlayedTestSet, 'groupSize' | 'isMixture'> {}

function scoresOf(
  name: string,
  groups: readonly RolloutGroup[],
  { total_samples: n, accuracy, groupSize, isMixture }: Asked,
): CellScore[] {
  const correct = groups.map(({ rollouts }) => rollouts.flatMap((rollout) => correctOf(rollout) ?? []));
  const spreads = new Map([
    ['env/all/reward/total', spreadOfMean(groups.map(({ rollouts }) => rollouts.map(totalReward)))],
    ['env/all/correct', spreadOfMean(correct)],
  ]);
  const metrics = Object.entries(rolloutMetrics(groups)).filter(([key]) => isShown(key));
  const scores = metrics.map(([key, value]): CellScore => {
    const { rolloutCount, problemCount } = measuredBy(key, groups);
    return {
      metric: key,
      key: `test/${key}`,
      value,
      stderr: spreads.get(key) ?? null,
      n: rolloutCount,
      ...(spreads.has(key) && groupSize > 1 && { clusters: problemCount }),
      higherIsBetter: spreads.has(key) ? true : null,
    };
  });
  if (!measuresCorrect(groups, isMixture)) return scores;
  // A rollout that failed counts as wrong.
  const padded = correct.map((values) => [...values, ...Array<number>(groupSize - values.length).fill(0)]);
  const stderr =
    groupSize > 1 ? spreadOfMean(padded) : Math.sqrt((accuracy * (1 - accuracy)) / Math.max(1, n));
  const key = `test/${name}/accuracy`;
  // All problems that were asked, those of which every rollout failed included.
  const asked = groupSize > 1 ? { clusters: groups.length } : {};
  return [{ metric: 'accuracy', key, value: accuracy, stderr, n, ...asked, higherIsBetter: true }, ...scores];
}

/** They say how much was measured, or repeat what is said already. */
const COUNTS = /^(total_|by_group\/|stop\/completed|max_tokens_reached|context_overflow|ob_tokens_per_turn)/;

/** What all have in common, and the rewards of parts of them. */
function isShown(key: string): boolean {
  if (!key.startsWith('env/all/')) return key.endsWith('/reward/total');
  return !COUNTS.test(key.slice('env/all/'.length));
}

const TAG_REWARD = /^env\/(.+)\/reward\/total$/;

/** What a row is the mean of: in a row of a tag its rollouts, and of a metric that only some environments give those that have it. */
function measuredBy(key: string, groups: readonly RolloutGroup[]) {
  const tag = key.startsWith('env/all/') ? undefined : TAG_REWARD.exec(key)?.[1];
  const metric = key.slice('env/all/'.length);
  const isOfAll =
    isEventKey(metric) || !groups.some(({ rollouts }) => rollouts.some((one) => has(one, metric)));
  const isCounted = (rollout: Rollout) => tag !== undefined || isOfAll || has(rollout, metric);
  const counts = groups
    .filter(({ tags }) => tag === undefined || tags.includes(tag))
    .map(({ rollouts }) => rollouts.filter(isCounted).length)
    .filter((count) => count > 0);
  return { rolloutCount: counts.reduce((sum, count) => sum + count, 0), problemCount: counts.length };
}

function has({ metrics, transitions }: Rollout, metric: string): boolean {
  return [metrics, ...transitions.map((turn) => turn.metrics)].some((noted) => Object.hasOwn(noted, metric));
}

/**
 * Standard error of a mean over rollouts, given by problem. Several rollouts of a problem tell less than as many problems would:
 * they vary together. null where nothing can be said.
 */
function spreadOfMean(byProblem: readonly (readonly number[])[]): number | null {
  const values = byProblem.flat();
  if (byProblem.some(({ length }) => length > 1)) {
    const clustered = byProblem.flatMap((own, problem) =>
      own.map((value) => ({ value, cluster: String(problem) })),
    );
    return clusteredStandardError(clustered, { correctForFewClusters: true });
  }
  const deviation = standardDeviation(values);
  return deviation === null ? null : deviation / Math.sqrt(values.length);
}
