/** What the client waits for at the moment, for a run's status. */
export interface Waiting {
  readonly what: string;
  readonly queueState?: string;
}

export type OnWait = (waiting: Waiting | null) => void;

/** Merges the waits of concurrent calls: the latest is reported, and null once none is left. */
export interface WaitReport {
  /** One call's own line in the report. */
  open(): { set(waiting: Waiting): void; clear(): void };
}

export function createWaitReport(onWait: OnWait): WaitReport {
  const current = new Map<symbol, Waiting>();
  return {
    open() {
      const call = Symbol('call');
      return {
        set(waiting) {
          const before = current.get(call);
          if (before?.what === waiting.what && before.queueState === waiting.queueState) return;
          current.set(call, waiting);
          onWait(waiting);
        },
        clear() {
          if (current.delete(call)) onWait([...current.values()].at(-1) ?? null);
        },
      };
    },
  };
}
