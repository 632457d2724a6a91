import { createEvaluationActivities } from '../activities/evaluation-activities';
import { createRunActivities } from '../activities/run-activities';
import { createTrainingActivities } from '../activities/training-activities';
import { createWorkerActivities } from '../activities/worker-activities';
import type { WorkerRole } from '../core/task-queues';
import type { WorkerDependencies } from './dependencies';

export function activitiesOf(role: WorkerRole, dependencies: WorkerDependencies): object {
  return { ...createWorkerActivities(dependencies.description), ...activitiesOnlyOf(role, dependencies) };
}

/** Grading and judging get theirs with sandboxes and judges. */
function activitiesOnlyOf(role: WorkerRole, dependencies: WorkerDependencies): object {
  switch (role) {
    case 'workflows':
      return createRunActivities(dependencies.runs);
    case 'training':
      return createTrainingActivities(dependencies.training);
    case 'sampling':
      return createEvaluationActivities(dependencies.evaluation);
    case 'grading':
    case 'judging':
      return {};
  }
}

/** Activities that mostly wait may be many; each holds its requests' answers in memory. */
export function defaultConcurrency(role: WorkerRole): number {
  return role === 'sampling' ? 32 : 100;
}
