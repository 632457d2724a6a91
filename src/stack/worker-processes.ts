import type { WorkerRole } from '../core/task-queues';

interface WorkerProcess {
  readonly name: string;
  readonly roles: readonly WorkerRole[];
}

/**
 * Evaluations have a process of their own: what they compute, plug-ins included, neither delays a step nor keeps a
 * training activity from reporting that it lives.
 */
export function workerProcesses(count: number): WorkerProcess[] {
  const training = Array.from({ length: count }, (_, index) => ({
    name: index === 0 ? 'worker' : `worker-${index + 1}`,
    roles: ['workflows', 'training'] as const,
  }));
  return [...training, { name: 'worker-evaluations', roles: ['sampling', 'grading', 'judging'] }];
}
