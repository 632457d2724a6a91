import type { TrainingConfig } from '../config/training-config';
import type { Supervision } from '../evaluation/evaluators/evaluation-context';

/** Held-out conversations are measured as the training ones count. */
export function supervisionOf(config: TrainingConfig): Supervision {
  if (config.kind !== 'sft') return { trainOnWhat: 'allAssistantMessages', lossReduction: 'mean' };
  const { trainOnWhat, lossReduction, maxLength } = config;
  return { trainOnWhat, lossReduction, ...(maxLength !== undefined && { maxLength }) };
}
