import type { EvaluatorConfig } from '../config/evaluation-config';
import { ownBenchmark } from './benchmarks';
import { lookUpKind } from './kinds';

/**
 * Whether an evaluator has a part of the plug-in file that its run names. Names of ours go before those of a plug-in; what needs
 * sandboxes may have them from its factory.
 */
export function needsPlugins(evaluator: EvaluatorConfig): boolean {
  switch (evaluator.type) {
    case 'plugin':
      return true;
    case 'custom':
      return typeof evaluator.grader === 'string';
    case 'benchmark': {
      const own = ownBenchmark(evaluator.benchmark);
      return own === null || own.needsSandbox === true;
    }
    case 'kind':
      return lookUpKind(evaluator.task) === null;
    default:
      return false;
  }
}
