import { parentPort, workerData } from 'node:worker_threads';
import { JOB_HANDLERS } from './jobs';
import { loadKernels } from './kernels';
import { Workspace } from './workspace';
import type { JobKind, Jobs } from './jobs';
import type { KernelChoice, Pointer } from './kernels';

/** The entry of a compute thread: it answers one message at a time and keeps no state between them. */

export interface ComputeThreadData {
  readonly memory: WebAssembly.Memory;
  readonly kernels: KernelChoice;
}

export interface JobMessage<Kind extends JobKind = JobKind> {
  readonly kind: Kind;
  readonly input: Jobs[Kind]['input'];
  readonly arena: { readonly start: Pointer; readonly end: Pointer };
}

export type JobReply = { readonly output: unknown } | { readonly error: string };

function answer<Kind extends JobKind>(space: Workspace, message: JobMessage<Kind>): JobReply {
  space.use(message.arena);
  try {
    return { output: JOB_HANDLERS[message.kind](space, message.input) };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function serve(data: ComputeThreadData): void {
  const space = new Workspace(loadKernels(data.kernels, data.memory), data.memory);
  parentPort?.on('message', (message: JobMessage) => {
    parentPort?.postMessage(answer(space, message));
  });
}

// Imported for its types by the main thread, this file starts nothing.
if (parentPort !== null) {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- workerData is `any`; only ThreadPool starts this file
  serve(workerData as ComputeThreadData);
}
