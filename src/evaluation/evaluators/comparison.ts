import type { EvaluatorConfig } from '../../config/evaluation-config';
import type { EngineSource, JudgeSource } from '../../core/benchmark-run';
import { DomainError } from '../../core/errors';
import type { CellScore } from '../../core/run';
import type { GenerationDefaults } from '../benchmarks/benchmark';
import { GENERATION } from '../benchmarks/benchmark';
import { datasetOf } from '../dataset-of';
import { requireJudges } from '../judges/find-judge';
import { judgedGrader } from '../judges/judged-grader';
import { sampledOpponent, targetOpponent } from '../judges/methods/opponents';
import type { Opponent } from '../judges/methods/pairwise';
import { pairwise } from '../judges/methods/pairwise';
import { datasetExamples } from './dataset-examples';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { generationOf, scoreCell, subjectOf } from './graded-cell';

type ComparisonConfig = Extract<EvaluatorConfig, { type: 'comparison' }>;

/** How often completions are preferred to those of a baseline, judged in both orders; a half where they are alike. */
export async function evaluateComparison(
  dependencies: EvaluationDependencies,
  config: ComparisonConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const generation = generationOf(config, GENERATION);
  const opponent = await opponentOf(dependencies, { config, generation, work });
  const grader = judgedGrader(pairwise({ opponent, by: config.by }));
  const subject = subjectOf(dependencies, { grader, generation, systemPrompt: config.systemPrompt }, work);
  const cell = {
    examples: await datasetExamples(dependencies, { ...config, dataset: datasetOf(config) }),
    subject,
    version: 1,
    concurrency: config.concurrency,
    metric: 'win_rate',
    judges: await requireJudges(grader, config.judge, dependencies),
  };
  return scoreCell(dependencies, cell, work);
}

interface OpponentParts {
  readonly config: ComparisonConfig;
  readonly generation: GenerationDefaults;
  readonly work: CellWork;
}

async function opponentOf(
  dependencies: EvaluationDependencies,
  { config, generation, work }: OpponentParts,
): Promise<Opponent> {
  const { baseline, systemPrompt, concurrency } = config;
  if (baseline === 'target') return targetOpponent;
  const source: JudgeSource = {
    model: await baselineModel(dependencies, baseline, work),
    ...generation,
    concurrency,
    timeoutSeconds: (dependencies.timeoutMs ?? TIMEOUT_MS) / 1000,
  };
  return sampledOpponent(source, systemPrompt);
}

const TIMEOUT_MS = 300_000;

async function baselineModel(
  { judges, renderer, engineUrl }: EvaluationDependencies,
  baseline: Exclude<ComparisonConfig['baseline'], 'target'>,
  { model }: CellWork,
): Promise<EngineSource> {
  const own: Omit<EngineSource, 'path' | 'label'> = {
    type: 'engine',
    model: model.name,
    renderer: renderer.name,
    ...(renderer.templateArguments && { templateArguments: renderer.templateArguments }),
    ...(engineUrl !== undefined && { url: engineUrl }),
  };
  if (baseline === 'base') return { ...own, path: null, label: null };
  const { checkpoint } = baseline;
  if (checkpoint.includes('://')) return { ...own, path: checkpoint, label: null };
  const found = await judges?.findCheckpoint(checkpoint);
  if (found) return found;
  throw new DomainError('bad-config', `baseline: no checkpoint "${checkpoint}" can be found here.`);
}
