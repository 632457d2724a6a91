import type { RunBudgetConfig } from '../config/evaluation-config';
import type { EvaluationBudget } from '../core/schedules/evaluation-schedule';

/** Only the limits somebody gave. */
export function givenLimits({ tokens, seconds, dollars }: RunBudgetConfig = {}): EvaluationBudget {
  return {
    ...(tokens !== undefined && { tokens }),
    ...(seconds !== undefined && { seconds }),
    ...(dollars !== undefined && { dollars }),
  };
}
