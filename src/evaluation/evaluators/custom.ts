import type { EvaluatorConfig } from '../../config/evaluation-config';
import type { CellScore } from '../../core/run';
import { GENERATION } from '../benchmarks/benchmark';
import type { Grader, Score } from '../graders/grader';
import type { PluginRegistry } from '../plugins';
import { findGrader } from '../plugins';
import { declarePythonGrader } from '../python/python-grader';
import { datasetExamples } from './dataset-examples';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { generationOf, scoreCell, subjectOf } from './graded-cell';

type CustomConfig = Extract<EvaluatorConfig, { type: 'custom' }>;

/** Scores completions of a dataset with a grader of the plug-in file; the last reply of each conversation is the target. */
export async function evaluateCustom(
  dependencies: EvaluationDependencies,
  config: CustomConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const grader = customGrader(dependencies.plugins, config.grader);
  const examples = await datasetExamples(dependencies, config);
  const asked = {
    grader,
    generation: generationOf(config, GENERATION),
    systemPrompt: config.systemPrompt,
  };
  const subject = subjectOf(dependencies, asked, work);
  return scoreCell(dependencies, { examples, subject, version: 1, concurrency: config.concurrency }, work);
}

function customGrader(plugins: PluginRegistry, grader: CustomConfig['grader']): Grader {
  return typeof grader === 'string' ? pluginGrader(plugins, grader) : declarePythonGrader(grader, '1');
}

function pluginGrader(plugins: PluginRegistry, name: string): Grader {
  const judge = findGrader(plugins, name);
  return {
    name,
    version: `${name}@${plugins.hash?.slice(0, 16) ?? 'unknown'}`,
    async grade(completion, example) {
      return scoreFrom(await judge(completion, example), completion);
    },
  };
}

/** Plug-ins may be plain JavaScript and return anything. */
function scoreFrom(given: unknown, completion: string): Score {
  if (typeof given === 'number' || typeof given === 'boolean')
    return { value: Number(given), answer: completion };
  const score: Partial<Record<keyof Score, unknown>> =
    typeof given === 'object' && given !== null ? given : {};
  const { value, answer, explanation } = score;
  return {
    value: typeof value === 'number' ? value : NaN,
    answer: typeof answer === 'string' ? answer : null,
    ...(typeof explanation === 'string' && { explanation }),
  };
}
