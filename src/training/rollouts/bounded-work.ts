import { untilAborted } from '../../core/concurrency/until-aborted';
import { LONGEST_TIMER_MS } from '../../core/longest-timer';
import { askableError } from '../../evaluation/error-message';
import { linkedAbort } from '../../evaluation/linked-abort';

export interface WorkBound {
  readonly signal: AbortSignal;
  /** null waits as long as it takes. */
  readonly timeoutMs: number | null;
  /** What is thrown when it takes longer. */
  readonly late: () => Error;
}

/**
 * Waits for work until it is done, late, or called off, whether the work listens to its signal or not. What it comes to
 * afterwards is nobody's concern. What it throws can be asked what it is.
 */
export async function boundedWork<Value>(
  work: (signal: AbortSignal) => Value | Promise<Value>,
  { signal, timeoutMs, late }: WorkBound,
): Promise<Value> {
  signal.throwIfAborted();
  const callOff = linkedAbort(signal);
  const timer =
    timeoutMs === null
      ? undefined
      : setTimeout(
          () => {
            callOff.abort(late());
          },
          Math.min(timeoutMs, LONGEST_TIMER_MS),
        );
  try {
    return await untilAborted(Promise.resolve(work(callOff.signal)), callOff.signal);
  } catch (error) {
    throw askableError(error);
  } finally {
    clearTimeout(timer);
    callOff.release();
  }
}
