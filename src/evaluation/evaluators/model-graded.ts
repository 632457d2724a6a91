import type { EvaluatorConfig } from '../../config/evaluation-config';
import type { CellScore } from '../../core/run';
import { GENERATION } from '../benchmarks/benchmark';
import type { JudgeMethod } from '../graders/grader';
import { requireJudges } from '../judges/find-judge';
import { judgedGrader } from '../judges/judged-grader';
import { modelGraded } from '../judges/methods/model-graded';
import { rubric } from '../judges/methods/rubric';
import { singleScore } from '../judges/methods/single-score';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { datasetExamples, generationOf, scoreCell, subjectOf } from './graded-cell';

type MethodConfig = Pick<
  ModelGradedConfig,
  'method' | 'partialCredit' | 'template' | 'instructions' | 'scale' | 'rubric'
>;
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
    examples: await datasetExamples(dependencies, config),
    subject: subjectOf(dependencies, asked, work),
    version: 1,
    concurrency: config.concurrency,
    metric: modelGradedMetric(config.method),
    judges: await requireJudges(grader, config.judge, dependencies),
  };
  return scoreCell(dependencies, cell, work);
}

/** Grades make an accuracy, as in the field; ratings do not. */
export function modelGradedMetric(method: ModelGradedConfig['method']): string {
  return method === 'qa' || method === 'fact' ? 'accuracy' : 'score';
}

/** How a config asks judges. */
export function methodOf(config: MethodConfig): JudgeMethod {
  const { method, partialCredit, template, instructions, scale, rubric: items } = config;
  switch (method) {
    case 'qa':
    case 'fact':
      return modelGraded({
        kind: method,
        partialCredit,
        ...(template !== undefined && { template }),
        ...(instructions !== undefined && { instructions }),
      });
    case 'score':
      return singleScore({ scale });
    case 'rubric':
      return rubric(items ? { items } : {});
  }
}
