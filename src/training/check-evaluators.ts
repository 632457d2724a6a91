import type { EvaluatorConfig } from '../config/evaluation-config';
import { findBenchmark } from '../evaluation/benchmarks';
import type { PluginRegistry } from '../evaluation/plugins';
import type { NeededPythonName } from '../evaluation/python/check-names';
import { checkPythonNames } from '../evaluation/python/check-names';
import type { PythonLink } from '../evaluation/python/python-link';
import { validateEvaluators } from '../evaluation/validate-evaluators';
import { pluginsOf } from './plugin-file';

/**
 * Refuses evaluators that this worker cannot build, before the first step, and those in Python that no Python worker has.
 * `fallback` is the worker's own plug-in file; without a way to Python workers what they have is not asked.
 */
export function checkEvaluators(fallback: string | undefined, python?: PythonLink) {
  return async (evaluators: readonly EvaluatorConfig[], plugins: string | undefined): Promise<void> => {
    const registry = await pluginsOf(plugins ?? fallback);
    validateEvaluators(evaluators, registry);
    if (!python) return;
    const needed = evaluators.flatMap((evaluator) => pythonNamesOf(evaluator, registry));
    await checkPythonNames(python, needed);
  };
}

function pythonNamesOf(evaluator: EvaluatorConfig, registry: PluginRegistry): NeededPythonName[] {
  if (evaluator.type === 'python')
    return [{ kind: 'evaluator', python: evaluator.evaluator, taskQueue: evaluator.taskQueue }];
  if (evaluator.type === 'custom' && typeof evaluator.grader === 'object')
    return [{ kind: 'grader', ...evaluator.grader }];
  if (evaluator.type !== 'benchmark') return [];
  const { python } = findBenchmark(evaluator.benchmark, registry).grader;
  return python ? [{ kind: 'grader', ...python }] : [];
}
