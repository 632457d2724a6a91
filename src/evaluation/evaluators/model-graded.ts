import type { EvaluatorConfig } from '../../config/evaluation-config';
import type { CellScore } from '../../core/run';
import { GENERATION } from '../benchmarks/benchmark';
import { datasetOf } from '../dataset-of';
import { requireJudges } from '../judges/find-judge';
import { judgedGrader } from '../judges/judged-grader';
import { methodOf, modelGradedMetric } from '../judges/methods/written-method';
import { datasetExamples } from './dataset-examples';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { generationOf, scoreCell, subjectOf } from './graded-cell';

type ModelGradedConfig = Extract<EvaluatorConfig, { type: 'modelGraded' }>;

/** Scores completions of a dataset by what judges say of them; the last reply of each conversation is the criterion. */
export async function evaluateModelGraded(
  dependencies: EvaluationDependencies,
  config: ModelGradedConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const grader = judgedGrader(methodOf(config));
  const asked = {
    grader,
    generation: generationOf(config, GENERATION),
    systemPrompt: config.systemPrompt,
  };
  const cell = {
    examples: await datasetExamples(dependencies, { ...config, dataset: datasetOf(config) }),
    subject: subjectOf(dependencies, asked, work),
    version: 1,
    concurrency: config.concurrency,
    metric: modelGradedMetric(config.method),
    judges: await requireJudges(grader, config.judge, dependencies),
  };
  return scoreCell(dependencies, cell, work);
}
