import { createBackfillActivities } from '../activities/backfill-activities';
import { createBenchmarkActivities } from '../activities/benchmark-activities';
import { createCanaryActivities } from '../activities/canary-activities';
import { createEvaluationActivities } from '../activities/evaluation-activities';
import { createRolloutActivities } from '../activities/rollout-activities';
import { createPreparationActivities, createRunActivities } from '../activities/run-activities';
import { createSessionActivities, createTrainingActivities } from '../activities/training-activities';
import { createWorkerActivities } from '../activities/worker-activities';
import { PREPARATION_QUEUE, SESSION_QUEUE, TASK_QUEUES } from '../core/task-queues';
import type { WorkerRole } from '../core/task-queues';
import type { WorkerDependencies } from './dependencies';

/** A task queue that a worker of a role polls, with as many activities at once as it has places. */
export interface RoleQueue {
  readonly taskQueue: string;
  readonly activities: object;
  readonly places: number;
}

/** Everything keeps a session that trains; sessions wait nearly always and cost next to nothing. */
const SESSION_PLACES = 10_000;
/** Each computes and holds a dataset; one may wait for a hub, which must not keep the others waiting. */
const PREPARATION_PLACES = 8;
/** Each run that trains has one nearly all the time, and what it holds in memory with it. */
const TRAINING_PLACES = 500;

/** The queues of a role. What is on different queues takes no place of the other. */
export function queuesOf(
  role: WorkerRole,
  dependencies: WorkerDependencies,
  places = defaultPlaces(role),
): RoleQueue[] {
  const own = { taskQueue: TASK_QUEUES[role], activities: activitiesOf(role, dependencies), places };
  return [own, ...queuesBeside(role, dependencies)];
}

function queuesBeside(role: WorkerRole, { runs, training }: WorkerDependencies): RoleQueue[] {
  if (role === 'workflows') {
    const activities = createPreparationActivities(runs);
    return [{ taskQueue: PREPARATION_QUEUE, activities, places: PREPARATION_PLACES }];
  }
  if (role !== 'training') return [];
  const activities = createSessionActivities(training);
  return [{ taskQueue: SESSION_QUEUE, activities, places: SESSION_PLACES }];
}

function activitiesOf(role: WorkerRole, dependencies: WorkerDependencies): object {
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
        ...createCanaryActivities(dependencies.canaries),
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
function defaultPlaces(role: WorkerRole): number {
  if (role === 'training') return TRAINING_PLACES;
  return role === 'sampling' ? 32 : 100;
}
