import type { EvaluatorConfig } from '../config/evaluation-config';
import { findBenchmark } from '../evaluation/benchmarks';
import { askedTasks } from '../evaluation/evaluators/inspect';
import { checkTask } from '../evaluation/inspect/run/check-task';
import type { InspectAccess } from '../evaluation/inspect/run/inspect-access';
import { readEnvironmentRecord } from '../evaluation/inspect/run/python-environment';
import type { PluginRegistry } from '../evaluation/plugins';
import type { NeededPythonName } from '../evaluation/python/check-names';
import { checkPythonNames } from '../evaluation/python/check-names';
import type { PythonLink } from '../evaluation/python/python-link';
import { validateEvaluators } from '../evaluation/validate-evaluators';
import type { LoadPlugins } from './plugin-file';

interface AskedBeforehand {
  /** What Python workers have. */
  readonly python?: PythonLink;
  /** What tasks of Inspect AI have, where this machine has an environment for them. */
  readonly inspect?: InspectAccess;
}

/**
 * Refuses evaluators that this worker cannot build, before the first step, those in Python that no Python worker has, and tasks of
 * Inspect AI that are not there or do not take their arguments.
 */
export function checkEvaluators(loadPlugins: LoadPlugins, { python, inspect }: AskedBeforehand = {}) {
  return async (evaluators: readonly EvaluatorConfig[], plugins: string | undefined): Promise<void> => {
    const registry = await loadPlugins(plugins);
    validateEvaluators(evaluators, registry);
    const needed = evaluators.flatMap((evaluator) => pythonNamesOf(evaluator, registry));
    if (python) await checkPythonNames(python, needed);
    if (inspect) await checkTasks(inspect, evaluators);
  };
}

/** Another machine may be the one that runs them: without an environment here nothing is known. */
async function checkTasks(inspect: InspectAccess, evaluators: readonly EvaluatorConfig[]): Promise<void> {
  const configs = evaluators.filter((evaluator) => evaluator.type === 'inspect');
  if (configs.length === 0 || (await readEnvironmentRecord(inspect.cacheFolder)) === null) return;
  for (const { task } of configs.flatMap(askedTasks)) await checkTask(inspect, task);
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
