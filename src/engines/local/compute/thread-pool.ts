import { existsSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { DomainError } from '../../../core/errors';
import type { ComputeThreadData, JobMessage, JobReply } from './compute-worker';
import type { JobKind, Jobs } from './jobs';
import type { KernelChoice, Pointer } from './kernels';
import type { SharedHeap } from './shared-heap';

export interface JobRequest<Kind extends JobKind = JobKind> {
  readonly kind: Kind;
  readonly input: Jobs[Kind]['input'];
  /** Floats of working memory the job needs at most. */
  readonly arenaFloats: number;
}

/** Foreground jobs that wait for a thread, and threads that have nothing to do. */
export interface Demand {
  readonly waitingJobs: number;
  readonly idleThreads: number;
}

/** Work that fills idle threads. It is asked again whenever a thread is free, and takes its own results. */
export interface BackgroundWork {
  next(): { readonly request: JobRequest; readonly settle: (reply: JobReply) => void } | null;
  /** Told whenever work was given out: a quantum that could go on may end for the sake of jobs, or of idle threads. */
  hurry(demand: Demand): void;
}

interface Task {
  readonly request: JobRequest;
  readonly settle: (reply: JobReply) => void;
}

interface ComputeThread {
  readonly worker: Worker;
  task: Task | null;
  arena: { readonly start: Pointer; readonly end: Pointer };
}

/**
 * Compute threads over one shared memory. Foreground jobs go first, in the order they came; background work is
 * taken in quanta by threads that would be idle.
 */
export class ThreadPool {
  private readonly threads: ComputeThread[];
  private readonly foreground: Task[] = [];
  private failure: DomainError | null = null;
  private isKicked = false;

  constructor(
    private readonly heap: SharedHeap,
    private readonly background: BackgroundWork,
    options: { readonly threads: number; readonly kernels: KernelChoice },
  ) {
    const data: ComputeThreadData = { memory: heap.memory, kernels: options.kernels };
    this.threads = Array.from({ length: options.threads }, () => this.start(data));
    heap.reclaim = () => {
      for (const thread of this.threads) if (thread.task === null) this.freeArena(thread);
    };
  }

  get size(): number {
    return this.threads.length;
  }

  async run<Kind extends JobKind>(request: JobRequest<Kind>): Promise<Jobs[Kind]['output']> {
    if (this.failure !== null) throw this.failure;
    return new Promise((resolve, reject) => {
      const settle = (reply: JobReply): void => {
        if ('error' in reply) reject(jobFailed(reply.error));
        // oxlint-disable-next-line typescript/consistent-type-assertions -- the thread answers a job of this kind with its output
        else resolve(reply.output as Jobs[Kind]['output']);
      };
      this.foreground.push({ request, settle });
      this.dispatch();
    });
  }

  /** Says that there may be background work. Waits for the callers of this turn, so that they share a batch. */
  kick(): void {
    if (this.isKicked) return;
    this.isKicked = true;
    setImmediate(() => {
      this.isKicked = false;
      this.dispatch();
    });
  }

  async close(): Promise<void> {
    this.fail('The local engine was closed.');
    await Promise.all(this.threads.map(({ worker }) => worker.terminate()));
  }

  private start(data: ComputeThreadData): ComputeThread {
    const worker = startWorker(data);
    const thread: ComputeThread = { worker, task: null, arena: { start: 0, end: 0 } };
    worker.on('message', (reply: JobReply) => {
      const { task } = thread;
      thread.task = null;
      task?.settle(reply);
      this.dispatch();
    });
    worker.on('error', (error: Error) => {
      this.fail(`A compute thread of the local engine died: ${error.message}. Restart the engine.`);
    });
    return thread;
  }

  private dispatch(): void {
    if (this.failure !== null) return;
    for (const thread of this.threads) this.occupy(thread);
    this.background.hurry({
      waitingJobs: this.foreground.length,
      idleThreads: this.threads.filter(({ task }) => task === null).length,
    });
  }

  private occupy(thread: ComputeThread): void {
    while (thread.task === null) {
      const task = this.foreground.shift() ?? this.background.next();
      if (task === null) return;
      this.assign(thread, task);
    }
  }

  /** A task there is no memory for is refused, and leaves the thread idle. */
  private assign(thread: ComputeThread, task: Task): void {
    try {
      this.growArena(thread, task.request.arenaFloats);
    } catch (error) {
      task.settle({ error: error instanceof Error ? error.message : String(error) });
      return;
    }
    thread.task = task;
    const message: JobMessage = { kind: task.request.kind, input: task.request.input, arena: thread.arena };
    thread.worker.postMessage(message);
  }

  private growArena(thread: ComputeThread, floatCount: number): void {
    const { start, end } = thread.arena;
    if ((end - start) / 4 >= floatCount) return;
    this.freeArena(thread);
    const pointer = this.heap.allocate(floatCount, 'a compute thread');
    thread.arena = { start: pointer, end: pointer + floatCount * 4 };
  }

  private freeArena(thread: ComputeThread): void {
    this.heap.free(thread.arena.start);
    thread.arena = { start: 0, end: 0 };
  }

  private fail(message: string): void {
    this.failure ??= new DomainError('request-failed', message, { category: 'server' });
    const tasks = [...this.threads.map((thread) => thread.task), ...this.foreground.splice(0)];
    for (const thread of this.threads) thread.task = null;
    for (const task of tasks) task?.settle({ error: this.failure.message });
  }
}

function jobFailed(message: string): DomainError {
  return new DomainError('request-failed', message, { category: 'server' });
}

/**
 * Compiled, the thread's entry lies beside this file; from the TypeScript sources it is loaded through jiti, without the
 * proxies for default imports, which every call of an imported function would pass.
 */
function startWorker(workerData: ComputeThreadData): Worker {
  const compiled = path.join(__dirname, 'compute-worker.js');
  if (existsSync(compiled)) return new Worker(compiled, { workerData });
  const entry = path.join(__dirname, 'compute-worker.ts');
  const jiti = JSON.stringify(require.resolve('jiti'));
  const source = `require(${jiti})(${JSON.stringify(entry)}, { interopDefault: false })(${JSON.stringify(entry)})`;
  return new Worker(source, { eval: true, workerData });
}
