import { createBackfillActivities } from '../activities/backfill-activities';
import { createBenchmarkActivities } from '../activities/benchmark-activities';
import { createCanaryActivities } from '../activities/canary-activities';
import { createEvaluationActivities } from '../activities/evaluation-activities';
import { createRolloutActivities } from '../activities/rollout-activities';
import { createRunActivities } from '../activities/run-activities';
import { createTrainingActivities } from '../activities/training-activities';
import { createWorkerActivities } from '../activities/worker-activities';
import { webhookValue } from '../config/webhook-values';
import type { WorkerRole } from '../core/task-queues';
import type { WorkerDependencies } from './dependencies';

export function activitiesOf(role: WorkerRole, dependencies: WorkerDependencies): object {
  return { ...createWorkerActivities(dependencies.description), ...activitiesOnlyOf(role, dependencies) };
}

function activitiesOnlyOf(role: WorkerRole, dependencies: WorkerDependencies): object {
  switch (role) {
    case 'workflows':
      return createRunActivities(dependencies.runs);
    case 'training':
      return createTrainingActivities(dependencies.training);
    case 'sampling':
      return {
        ...createEvaluationActivities(dependencies.evaluation),
        ...createBackfillActivities(dependencies.benchmarks),
        ...createBenchmarkActivities(dependencies.benchmarks),
        ...createCanaryActivities({ webhookValues: webhookValue }),
        ...createRolloutActivities(dependencies.rollouts),
      };
    // Benchmarks whose answers are run, whole: sampling them and running them are one shard's work.
    case 'grading':
      return {
        ...createEvaluationActivities(dependencies.evaluation, true),
        ...createBenchmarkActivities(dependencies.benchmarks),
      };
    // Answers that are judged again; judges of new ones are asked by whoever samples them.
    case 'judging':
      return {
        ...createEvaluationActivities(dependencies.evaluation),
        ...createBenchmarkActivities(dependencies.benchmarks),
      };
  }
}

/** Activities that mostly wait may be many; each holds its requests' answers in memory. */
export function defaultConcurrency(role: WorkerRole): number {
  return role === 'sampling' ? 32 : 100;
}
