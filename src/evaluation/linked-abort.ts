import { setMaxListeners } from 'node:events';

export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** To be called when the work is over, so that a signal that lives long does not gather listeners. */
  release(): void;
}

/** A signal that fires with another one, and alone. */
export function linkedAbort(outer: AbortSignal): LinkedAbort {
  const controller = new AbortController();
  const follow = () => {
    controller.abort(outer.reason);
  };
  // One listener for each rollout under way is no leak.
  setMaxListeners(0, outer, controller.signal);
  if (outer.aborted) follow();
  else outer.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => {
      controller.abort(reason);
    },
    release: () => {
      outer.removeEventListener('abort', follow);
    },
  };
}
