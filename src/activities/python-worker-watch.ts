import type { Client, WorkflowHandle } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { DomainError } from '../core/errors';
import type { AskOptions } from '../evaluation/python/python-link';

export interface WatchedWork extends AskOptions {
  readonly handle: WorkflowHandle;
  readonly taskQueue: string;
}

const { TASK_QUEUE_TYPE_ACTIVITY } = temporal.api.enums.v1.TaskQueueType;
const { PENDING_ACTIVITY_STATE_SCHEDULED } = temporal.api.enums.v1.PendingActivityState;
/** Work that is taken at once is never looked after. */
const FIRST_LOOK_MS = 2000;
const NEXT_LOOK_MS = 3000;
/** A poll takes up to a minute; the server lists those who polled within five. */
const POLLER_MS = 75_000;

/** Finds out that work waits for a worker, and says so while it does. */
export class WorkerWatch {
  /** Throws `unreachable` when nobody took the work for as long as may be waited; never settles else. */
  readonly impatience: Promise<never>;
  private timer: NodeJS.Timeout;
  private isStopped = false;
  private isWaiting = false;
  private waitingSince = performance.now();
  private giveUp: (error: DomainError) => void = () => undefined;

  constructor(
    private readonly client: Client,
    private readonly work: WatchedWork,
  ) {
    this.impatience = new Promise((_resolve, reject) => {
      this.giveUp = reject;
    });
    this.impatience.catch(() => undefined);
    this.timer = this.lookIn(FIRST_LOOK_MS);
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    if (this.isWaiting) this.work.onWaiting?.(null);
  }

  private lookIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => {
      void this.look().finally(() => {
        if (!this.isStopped) this.timer = this.lookIn(NEXT_LOOK_MS);
      });
    }, milliseconds);
  }

  private async look(): Promise<void> {
    const reason = await this.findReason().catch(() => null);
    if (this.isStopped) return;
    if (reason === null) this.waitingSince = performance.now();
    if (reason !== null || this.isWaiting) this.work.onWaiting?.(reason);
    this.isWaiting = reason !== null;
    const { patienceMs = Infinity } = this.work;
    if (reason !== null && performance.now() - this.waitingSince > patienceMs)
      this.giveUp(new DomainError('unreachable', reason, { retryable: true }));
  }

  private async findReason(): Promise<string | null> {
    const { handle, taskQueue } = this.work;
    const { raw } = await handle.describe();
    const [pending] = raw.pendingActivities ?? [];
    if (pending?.state !== PENDING_ACTIVITY_STATE_SCHEDULED) return null;
    const isPolled = await this.hasPoller();
    return isPolled
      ? `The Python workers that poll ${taskQueue} have not taken the work yet. If they have died, start one; if they are busy, start more.`
      : `No Python worker polls ${taskQueue}. Start one (docs/python.md says how; examples/python-worker of the package has one).`;
  }

  private async hasPoller(): Promise<boolean> {
    const { namespace } = this.client.options;
    const { pollers } = await this.client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: this.work.taskQueue },
      taskQueueType: TASK_QUEUE_TYPE_ACTIVITY,
    });
    const earliest = (Date.now() - POLLER_MS) / 1000;
    return pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= earliest);
  }
}
