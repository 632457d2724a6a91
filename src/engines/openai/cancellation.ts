import { setMaxListeners } from 'node:events';

type Listener = (reason: unknown) => void;

/**
 * One request's end from outside: its caller's signal, or its client's close.
 *
 * A request waits for one thing at a time, so there is one listener; an AbortController and `AbortSignal.any` for each
 * request would cost more than sending it.
 */
export class Cancellation {
  private listener: Listener | null = null;
  private cancelled: { readonly reason: unknown } | null = null;

  cancel(reason: unknown): void {
    if (this.cancelled) return;
    this.cancelled = { reason };
    this.listener?.(reason);
  }

  throwIfCancelled(): void {
    if (this.cancelled) throw this.cancelled.reason;
  }

  /** Calls back at once where it is cancelled already. */
  listen(listener: Listener): void {
    this.listener = listener;
    if (this.cancelled) listener(this.cancelled.reason);
  }

  ignore(): void {
    this.listener = null;
  }

  /** Rejects with the reason when cancelled. */
  pause(milliseconds: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.ignore();
        resolve();
      }, milliseconds);
      this.listen((reason) => {
        clearTimeout(timer);
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the caller's own reason
        reject(reason);
      });
    });
  }
}

interface Followed {
  readonly cancellations: Set<Cancellation>;
  readonly onAbort: () => void;
}

/**
 * Requests that end when their callers' signals fire.
 *
 * Hundreds of requests hang on one signal, and a signal looks through all its listeners for each that comes or goes: it
 * gets one listener for all of them.
 */
export class Followers {
  private readonly followed = new Map<AbortSignal, Followed>();

  /** Cancels at once where the signal has fired. */
  add(signal: AbortSignal, cancellation: Cancellation): void {
    if (signal.aborted) {
      cancellation.cancel(signal.reason);
      return;
    }
    const { cancellations } = this.followed.get(signal) ?? this.begin(signal);
    cancellations.add(cancellation);
  }

  remove(signal: AbortSignal, cancellation: Cancellation): void {
    const followed = this.followed.get(signal);
    if (!followed?.cancellations.delete(cancellation) || followed.cancellations.size > 0) return;
    this.followed.delete(signal);
    signal.removeEventListener('abort', followed.onAbort);
  }

  private begin(signal: AbortSignal): Followed {
    const cancellations = new Set<Cancellation>();
    const onAbort = (): void => {
      for (const cancellation of cancellations) cancellation.cancel(signal.reason);
    };
    // Several clients may hang on one signal, which Node would report as a leak.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', onAbort, { once: true });
    const followed = { cancellations, onAbort };
    this.followed.set(signal, followed);
    return followed;
  }
}
