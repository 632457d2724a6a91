import { z } from 'zod';
import type { TellWaiting } from '../../../core/concurrency/waiting-reasons';
import { WaitingReasons } from '../../../core/concurrency/waiting-reasons';
import { DomainError } from '../../../core/errors';
import type { PythonLink } from '../../../evaluation/python/python-link';

/** One thing asked of one rollout. Asked again, it gets the same answer. */
export interface PythonCall {
  readonly rollout: string;
  /** 0 opens the rollout; −1 closes it. */
  readonly turn: number;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Who plays the rollouts of one environment. */
export interface PythonStage {
  readonly link: PythonLink;
  readonly environment: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly taskQueue: string;
}

export type PythonAnswer =
  | { readonly type: 'value'; readonly value: unknown; readonly queue: string }
  /** The worker that had the rollout is gone, and the rollout with it. */
  | { readonly type: 'lost' }
  | { readonly type: 'error'; readonly message: string };

interface Waiting {
  readonly call: PythonCall;
  readonly bytes: number;
  readonly signal: AbortSignal;
  readonly resolve: (answer: PythonAnswer | 'pending') => void;
  readonly reject: (error: unknown) => void;
}

/** What arrives together is asked together: a message costs more than most environments do. */
const GATHER_MS = 10;
const MOST_CALLS = 200;
const MOST_BYTES = 400_000;
/** History holds two copies of each and refuses 2 MB. */
const LARGEST_BYTES = 1_000_000;
/** A worker answers after this long with what is done; the rest is asked for again. */
const WORKER_SECONDS = 2;
/** Without a worker on the common queue, the run is told. */
const COMMON_PATIENCE_MS = 15_000;
/** A worker that does not take what is for it alone is dead. */
const OWN_PATIENCE_MS = 6000;

const Answers = z.object({ queue: z.string(), answers: z.array(z.unknown()) });
const OneAnswer = z.union([
  z.object({ value: z.unknown() }).refine((given) => 'value' in given),
  z.object({ error: z.string() }),
  z.object({ pending: z.literal(true) }),
  z.object({ lost: z.literal(true) }),
]);

/** A service that all environments of a piece of work share is away: no environment's fault, and not told as one. */
export class EnvironmentAway extends Error {
  constructor(override readonly cause: DomainError) {
    super(cause.message);
    this.name = 'EnvironmentAway';
  }
}

/** Calls of the rollouts that one piece of work plays, gathered by the queue they are for. */
export class PythonCalls {
  private readonly waiting = new Map<string, Waiting[]>();
  private readonly waits: WaitingReasons;

  /** `onWaiting` hears for which workers is waited, and null when none is waited for any longer. */
  constructor(
    private readonly stage: PythonStage,
    onWaiting: TellWaiting = () => undefined,
  ) {
    this.waits = new WaitingReasons(onWaiting);
  }

  /** `queue` null is any worker's; else that of the worker that has the rollout. */
  async ask(call: PythonCall, queue: string | null, signal: AbortSignal): Promise<PythonAnswer> {
    for (;;) {
      signal.throwIfAborted();
      const answer = await this.askOnce(call, queue ?? this.stage.taskQueue, signal);
      if (answer !== 'pending') return answer;
    }
  }

  private askOnce(call: PythonCall, queue: string, signal: AbortSignal): Promise<PythonAnswer | 'pending'> {
    const bytes = Buffer.byteLength(JSON.stringify(call));
    if (bytes > LARGEST_BYTES) return Promise.resolve(tooLarge(bytes));
    return new Promise((resolve, reject) => {
      const list = this.waiting.get(queue) ?? [];
      if (list.length === 0)
        setTimeout(() => {
          this.sendAll(queue);
        }, GATHER_MS);
      this.waiting.set(queue, [...list, { call, bytes, signal, resolve, reject }]);
    });
  }

  private sendAll(queue: string): void {
    const list = this.waiting.get(queue) ?? [];
    this.waiting.delete(queue);
    for (const batch of batchesOf(list)) void this.send(queue, batch);
  }

  private async send(queue: string, batch: readonly Waiting[]): Promise<void> {
    const isCommon = queue === this.stage.taskQueue;
    const callOff = new AbortController();
    const release = whenAllAborted(batch, () => {
      callOff.abort(new Error('nobody waits for the answer'));
    });
    try {
      const given = await this.stage.link.ask(this.workFor(queue, batch), {
        signal: callOff.signal,
        onWaiting: this.waits.part(),
        patienceMs: isCommon ? COMMON_PATIENCE_MS : OWN_PATIENCE_MS,
        isForThisAskerOnly: true,
      });
      const { queue: owner, answers } = Answers.parse(given);
      for (const [index, { resolve }] of batch.entries()) resolve(answerOf(answers[index], owner));
    } catch (error) {
      for (const waiting of batch) fail(waiting, error, isCommon);
    } finally {
      release();
    }
  }

  private workFor(taskQueue: string, batch: readonly Waiting[]) {
    const { environment, options } = this.stage;
    const calls = batch.map(({ call: { rollout, turn, input } }) => ({ rollout, turn, ...input }));
    const input = { environment, options, calls, patienceSeconds: WORKER_SECONDS };
    return { activity: 'playEnvironments', taskQueue, input } as const;
  }
}

/** Where only one worker could have answered, the rollout is lost with it; where any could, nobody is there. */
function fail({ resolve, reject }: Waiting, error: unknown, isCommon: boolean): void {
  if (!isUnreachable(error)) reject(error);
  else if (isCommon) reject(new EnvironmentAway(error));
  else resolve({ type: 'lost' });
}

function batchesOf(list: readonly Waiting[]): Waiting[][] {
  const batches: Waiting[][] = [];
  let bytes = 0;
  for (const waiting of list) {
    const last = batches.at(-1);
    bytes += waiting.bytes;
    if (last && last.length < MOST_CALLS && bytes <= MOST_BYTES) last.push(waiting);
    else {
      batches.push([waiting]);
      bytes = waiting.bytes;
    }
  }
  return batches;
}

function answerOf(given: unknown, queue: string): PythonAnswer | 'pending' {
  const parsed = OneAnswer.safeParse(given);
  if (!parsed.success)
    return { type: 'error', message: 'the Python worker gave no answer; use everstep_worker.py' };
  const { data } = parsed;
  if ('pending' in data) return 'pending';
  if ('lost' in data) return { type: 'lost' };
  if ('error' in data) return { type: 'error', message: data.error };
  return { type: 'value', value: data.value, queue };
}

function whenAllAborted(batch: readonly Waiting[], callOff: () => void): () => void {
  let left = batch.length;
  const listeners = batch.map(({ signal, reject }) => {
    const onAbort = () => {
      reject(signal.reason instanceof Error ? signal.reason : new Error('called off'));
      left -= 1;
      if (left === 0) callOff();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    return { signal, onAbort };
  });
  return () => {
    for (const { signal, onAbort } of listeners) signal.removeEventListener('abort', onAbort);
  };
}

function isUnreachable(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'unreachable';
}

function tooLarge(bytes: number): PythonAnswer {
  const message = `a message of ${bytes} bytes is more than the ${LARGEST_BYTES} that can be sent to Python`;
  return { type: 'error', message };
}
