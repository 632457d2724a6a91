/** What the client waits for at the moment, for a run's status. */
export interface Waiting {
  readonly what: string;
  readonly queueState?: string;
}

/** Of the calls that wait, the one that does so longest. */
export interface LongestWait {
  readonly waiting: Waiting;
  /** On the clock of `performance.now()`. */
  readonly since: number;
}

/** Told whenever a call begins to wait, waits for something else, or ends to: what was told last, and who waits longest. */
export type OnWait = (waiting: Waiting | null, longest: LongestWait | null) => void;

/** Merges the waits of concurrent calls: the latest is reported, and null once none is left. */
export interface WaitReport {
  /** One call's own line in the report. */
  open(): { set(waiting: Waiting): void; clear(): void };
}

export function createWaitReport(onWait: OnWait): WaitReport {
  // In the order in which they began to wait.
  const current = new Map<symbol, LongestWait>();
  const tell = (waiting: Waiting | null) => {
    const [longest = null] = current.values();
    onWait(waiting, longest);
  };
  return {
    open() {
      const call = Symbol('call');
      return {
        set(waiting) {
          const before = current.get(call);
          if (before?.waiting.what === waiting.what && before.waiting.queueState === waiting.queueState)
            return;
          current.set(call, { waiting, since: before?.since ?? performance.now() });
          tell(waiting);
        },
        clear() {
          if (current.delete(call)) tell([...current.values()].at(-1)?.waiting ?? null);
        },
      };
    },
  };
}
