import type { EnvironmentConfig } from '../../../config/environment-config';
import type { JudgeConfig } from '../../../config/judge-config';
import type { EngineSource, JudgeSource } from '../../../core/benchmark-run';
import { DomainError } from '../../../core/errors';
import { RowPlace } from '../../../datasets/row-place';
import { datasetOf } from '../../../evaluation/dataset-of';
import { datasetExamples } from '../../../evaluation/evaluators/dataset-examples';
import { methodOf } from '../../../evaluation/judges/methods/written-method';
import type { Example } from '../../../evaluation/example';
import type { JudgeMethod } from '../../../evaluation/graders/grader';
import type { OwnModel } from '../../../evaluation/judges/find-judge';
import { findRewardJudges, findStep } from '../../../evaluation/judges/find-judge';
import type { JudgeAccess } from '../../../evaluation/judges/judge-access';
import { judgedGrader } from '../../../evaluation/judges/judged-grader';
import { sampledOpponent, targetOpponent } from '../../../evaluation/judges/methods/opponents';
import type { Opponent } from '../../../evaluation/judges/methods/pairwise';
import { pairwise } from '../../../evaluation/judges/methods/pairwise';
import type { ReadDataset } from '../../dataset-source';
import type { EnvironmentDataset, LeftOutRow } from '../environment-dataset';
import { exampleGroup } from '../example-group';
import { questionOf } from '../benchmark-environments';
import { askedInTest, listedDataset, splitDataset } from '../listed-dataset';

/** What rewards of models are made with. */
export interface JudgingSources {
  readonly access: JudgeAccess;
  readonly readDataset: ReadDataset;
  readonly own: OwnModel;
  /** As the run samples. */
  readonly generation: Pick<JudgeSource, 'maxTokens' | 'temperature'>;
}

type ModelGradedEnvironment = Extract<EnvironmentConfig, { type: 'modelGraded' }>;
type ComparisonEnvironment = Extract<EnvironmentConfig, { type: 'comparison' }>;

/** Conversations whose replies earn what judges say of them: the evaluators of the same names, as rewards. */
export async function judgedEnvironments(
  config: ModelGradedEnvironment | ComparisonEnvironment,
  sources: JudgingSources | undefined,
): Promise<EnvironmentDataset> {
  const { access, own, readDataset } = requireJudging(sources, config.type);
  const judges = await findRewardJudges(config.judge, access, own);
  const { systemPrompt, prefix = [], dataset, testSize, limit, formatPenalty } = config;
  const isGrade = config.type === 'modelGraded' && (config.method === 'qa' || config.method === 'fact');
  const problem = {
    grader: judgedGrader(await methodFor(config, requireJudging(sources, config.type))),
    judges,
    tags: [config.type],
    prefix: [...(systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }]), ...prefix],
    formatPenalty,
    // Whether a verdict can be read says nothing of the form of the reply.
    checkFormat: () => true,
    ...(!isGrade && { valueName: VALUE_NAMES[config.type] }),
  };
  const leftOut: LeftOutRow[] = [];
  const groupOf = (example: Example) => exampleGroup({ ...problem, example });
  const examplesOf = (path: typeof dataset.path) =>
    datasetExamples(
      { loadDataset: notingSkipped(readDataset, leftOut) },
      { dataset: { ...datasetOf(config), path }, maxExamples: undefined },
    );
  const examples = await examplesOf(dataset.path);
  if (dataset.testPath === undefined) {
    const split = splitDataset(config.type, examples, { groupOf, testSize, limit, askedBy: questionOf });
    return { ...split, judges, leftOut: [...leftOut, ...(split.leftOut ?? [])] };
  }
  const tested = await examplesOf(dataset.testPath);
  const isTested = new Set(tested.map(questionOf));
  const trained = examples.filter((example) => !isTested.has(questionOf(example)));
  const repeated = examples.filter((example) => isTested.has(questionOf(example)));
  leftOut.push(...repeated.map(groupOf).flatMap(askedInTest));
  const test = listedDataset(config.type, tested, { groupOf, test: null });
  return { ...listedDataset(config.type, trained.slice(0, limit), { groupOf, test }), judges, leftOut };
}

/** Bad rows are told, as those of an environment's own file are. */
function notingSkipped(readDataset: ReadDataset, leftOut: LeftOutRow[]): ReadDataset {
  return async (config) => {
    const loaded = await readDataset(config);
    const rows = loaded.skipped.map(({ file, line, reason, others }) => ({
      ...{ place: new RowPlace(file, line), reason },
      ...(config.onBadRow !== 'skip' && { stopsRun: true as const }),
      ...(others !== undefined && { others }),
    }));
    leftOut.push(...rows);
    return loaded;
  };
}

const VALUE_NAMES = { modelGraded: 'score', comparison: 'win_rate' };

/** Judges of a benchmark that is trained on; none where none are named. */
export async function benchmarkJudges(
  judge: readonly JudgeConfig[] | undefined,
  sources: JudgingSources | undefined,
): Promise<readonly JudgeSource[] | undefined> {
  if (!judge) return undefined;
  const { access, own } = requireJudging(sources, 'benchmark');
  return findRewardJudges(judge, access, own);
}

function requireJudging(sources: JudgingSources | undefined, type: string): JudgingSources {
  if (sources) return sources;
  throw new DomainError('bad-config', `environment: ${type} is judged by a model, which only workers reach.`);
}

async function methodFor(
  config: ModelGradedEnvironment | ComparisonEnvironment,
  sources: JudgingSources,
): Promise<JudgeMethod> {
  if (config.type === 'modelGraded') return methodOf(config);
  return pairwise({ opponent: await opponentOf(config, sources), by: config.by });
}

const BASELINES_AT_ONCE = 16;
const BASELINE_TIMEOUT_SECONDS = 300;

async function opponentOf(
  { baseline, systemPrompt }: ComparisonEnvironment,
  sources: JudgingSources,
): Promise<Opponent> {
  if (baseline === 'target') return targetOpponent;
  const source: JudgeSource = {
    model: await baselineModel(baseline, sources),
    ...sources.generation,
    topP: 1,
    concurrency: BASELINES_AT_ONCE,
    timeoutSeconds: BASELINE_TIMEOUT_SECONDS,
  };
  return sampledOpponent(source, systemPrompt);
}

async function baselineModel(
  baseline: Exclude<ComparisonEnvironment['baseline'], 'target'>,
  { access, own }: JudgingSources,
): Promise<EngineSource> {
  if (baseline === 'base') return { ...own, type: 'engine', path: null, label: null };
  const { checkpoint } = baseline;
  if (checkpoint.includes('://')) return { ...own, type: 'engine', path: checkpoint, label: null };
  return findStep(checkpoint, 'environment.baseline.checkpoint', access.findCheckpoint);
}
