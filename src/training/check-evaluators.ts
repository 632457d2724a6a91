import type { EvaluatorConfig } from '../config/evaluation-config';
import { pluginsOf } from './plugin-file';
import { validateEvaluators } from '../evaluation/validate-evaluators';

/** Refuses evaluators that this worker cannot build, before the first step. `fallback` is the worker's own plug-in file. */
export function checkEvaluators(fallback: string | undefined) {
  return async (evaluators: readonly EvaluatorConfig[], plugins: string | undefined): Promise<void> => {
    validateEvaluators(evaluators, await pluginsOf(plugins ?? fallback));
  };
}
