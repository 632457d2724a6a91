import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CancelledFailure, Context } from '@temporalio/activity';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { DomainError } from '../core/errors';
import type { PythonAsk } from '../core/python';
import { UNKNOWN_PYTHON_NAME } from '../core/python';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import type { AskOptions, PythonLink } from '../evaluation/python/python-link';
import { WorkerWatch } from './python-worker-watch';

const AWAY_PAUSE_MS = 1000;
/** INVALID_ARGUMENT, PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED: asking again gets the same answer. */
const FINAL_CODES: readonly unknown[] = [3, 7, 12, 16];

/** The way of activities to Python workers: each piece of work is a workflow `python/<activity>/<digest>`. */
export function createPythonLink(): PythonLink {
  return { ask: (work, options) => askPatiently(Context.current().client, work, options) };
}

/** A server that is away or forgot the work is asked again: the work's id says what it is. */
async function askPatiently(client: Client, work: PythonAsk, options: AskOptions): Promise<unknown> {
  for (;;) {
    try {
      return await askOnce(client, work, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      throwWhatIsFinal(error);
    }
    await delay(AWAY_PAUSE_MS, undefined, options.signal && { signal: options.signal });
  }
}

async function askOnce(client: Client, work: PythonAsk, options: AskOptions): Promise<unknown> {
  const digest = hash('sha256', JSON.stringify(work), 'hex').slice(0, 32);
  const handle = await client.workflow.start('askPython', {
    workflowId: `python/${work.activity}/${digest}`,
    taskQueue: TASK_QUEUES.workflows,
    args: [work],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
  });
  const watch = new WorkerWatch(client, { handle, taskQueue: work.taskQueue, ...options });
  const { signal } = options;
  const callOff = () => void cancel(client, handle, signal?.reason);
  const aborted = whenAborted(signal, callOff);
  try {
    return await Promise.race([handle.result(), watch.impatience, aborted.promise]);
  } catch (error) {
    if (options.isForThisAskerOnly && error instanceof DomainError) callOff();
    throw error;
  } finally {
    aborted.stop();
    watch.stop();
  }
}

/** Work of an attempt that a worker's own end cut off goes on: the next attempt asks for the same. */
async function cancel(client: Client, handle: WorkflowHandle, reason: unknown): Promise<void> {
  if (reason instanceof CancelledFailure && reason.message === 'WORKER_SHUTDOWN') return;
  const ownSignal = new AbortController().signal;
  // The activity's own signal has fired, and would call this off too.
  await client.withAbortSignal(ownSignal, () => handle.cancel()).catch(() => undefined);
}

/** `promise` rejects when the signal fires, which `stop` ceases to listen to: one signal sees thousands of pieces of work. */
function whenAborted(signal: AbortSignal | undefined, callOff: () => void) {
  let stop = () => {};
  const promise = new Promise<never>((_resolve, reject) => {
    if (!signal) return;
    const onAbort = () => {
      callOff();
      reject(signal.reason instanceof Error ? signal.reason : new Error('called off'));
    };
    stop = () => {
      signal.removeEventListener('abort', onAbort);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  return { promise, stop };
}

function failureOf(error: WorkflowFailedError): Error {
  let cause: unknown = error.cause;
  while (cause instanceof TemporalFailure && !(cause instanceof ApplicationFailure)) cause = cause.cause;
  if (!(cause instanceof ApplicationFailure)) return new Error(error.cause?.message ?? error.message);
  return cause.type === UNKNOWN_PYTHON_NAME
    ? new DomainError('unknown-evaluator', cause.message)
    : new Error(cause.message);
}

/** Returns where asking again may help: the server is away, or does not know the work any more. */
function throwWhatIsFinal(error: unknown): void {
  if (error instanceof WorkflowFailedError) throw failureOf(error);
  if (error instanceof DomainError || isFinal(error)) throw error;
}

function isFinal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if ('code' in error && FINAL_CODES.includes(error.code)) return true;
  return 'cause' in error && isFinal(error.cause);
}
