import type { EvaluatorConfig } from './evaluation-config';
import type { TrainingConfig } from './training-config';

/** Every evaluator that a config names, of either form of schedules. */
export function evaluatorsOf(config: TrainingConfig): EvaluatorConfig[] {
  const { evaluators = [], infrequentEvaluators = [], schedules = [] } = config;
  return [...evaluators, ...infrequentEvaluators, ...schedules.flatMap((schedule) => schedule.evaluators)];
}
