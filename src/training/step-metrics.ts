import { METRIC_KEYS } from '../core/metrics/metric-keys';
import type { MetricsRow } from '../core/run';
import type { TrainingPlan } from '../core/training-plan';
import type { PlannedStep } from './step-plan';
import type { StepAnswers } from './step-requests';

/** One row of `metrics.jsonl`: only what config, data and seed determine. */
export function stepMetrics(plan: TrainingPlan, planned: PlannedStep, answers: StepAnswers): MetricsRow {
  const { batch, step, updatesAfter } = planned;
  return {
    step,
    ...batch?.metrics(answers.forwardBackward?.logprobs ?? [], answers.remeasured?.logprobs ?? []),
    [METRIC_KEYS.learningRate]: planned.learningRate,
    [METRIC_KEYS.updates]: updatesAfter,
    ...engineMetrics('train', answers.forwardBackward?.metrics ?? {}),
    ...engineMetrics('optim', answers.optimizer),
    [METRIC_KEYS.epoch]: batch?.epoch ?? 0,
    [METRIC_KEYS.doneFraction]: step / plan.totalSteps,
  };
}

/**
 * What the service reports of a step, under our areas: `skyrl.ai/grad_norm` and `grad_norm:mean` become
 * `optim/grad_norm`, `loss:sum` becomes `train/loss`.
 */
function engineMetrics(
  area: string,
  metrics: Readonly<Record<string, number>>,
): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => {
      const [short] = name.slice(name.lastIndexOf('/') + 1).split(':', 1);
      return [`${area}/${short}`, Number.isFinite(value) ? value : null];
    }),
  );
}
