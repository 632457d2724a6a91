import { setMaxListeners } from 'node:events';

/** Runs once and shares the result; a failure is forgotten so that the next caller tries again. */
export function remember<Result>(load: () => Promise<Result>): () => Promise<Result> {
  let loading: Promise<Result> | null = null;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

/** Shared work goes on for its other callers when one of them gives up. */
export async function orAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (!signal) return work;
  expectManyListeners(signal);
  let onAbort = (): void => undefined;
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  signal.throwIfAborted();
  return work;
}

/** A signal that fires some time after another, until it is released. */
export function firesLater(
  signal: AbortSignal,
  delayMs: number,
): { readonly signal: AbortSignal; release(): void } {
  expectManyListeners(signal);
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    timer = setTimeout(() => {
      controller.abort(signal.reason);
    }, delayMs);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}

/** All calls of one caller hang on its signal, which Node would report as a leak. */
export function expectManyListeners(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}
