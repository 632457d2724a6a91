import type { Steps } from '../../../core/concurrency/steps';
import { DomainError } from '../../../core/errors';
import { KeptBytes } from './kept-bytes';

/** What a finished request answers; `protobuf` is there for the two results that have a binary form. */
export interface FutureResult {
  /** About how much it holds in memory; results of a few numbers leave it out. */
  readonly bytes?: number;
  json(): unknown;
  /** The text of `json`, a part at a time, of what may be long. */
  text?(): Steps<string>;
  protobuf?(): Uint8Array;
}

export function jsonResult(value: unknown): FutureResult {
  return { json: () => value };
}

interface Failure {
  readonly error: string;
  readonly category: 'user' | 'server' | 'unknown';
}

export type FutureOutcome =
  | { readonly kind: 'result'; readonly result: FutureResult }
  | { readonly kind: 'failure'; readonly failure: Failure };

/** Why work has not begun or does not end; clients wait through either state. */
export interface Delay {
  readonly queueState: 'active' | 'paused_capacity';
  readonly reason: string;
}

interface FutureTerms {
  /** The model or sampling session whose newer results push out this one. */
  readonly owner: string;
  readonly waitsFor?: () => Delay | null;
}

interface FutureEntry {
  readonly waitsFor: () => Delay | null;
  readonly waiters: Set<(outcome: FutureOutcome) => void>;
  outcome: FutureOutcome | null;
  settledAt: number;
}

/** A reason may quote what was sent. */
const LONGEST_REASON = 2000;

/** Results outlive the worker that asked for them: an hour, and the latest ones of an owner for as long as it lives. */
const KEEP_FOR_MS = 3_600_000;
const KEEP_LATEST = 1000;
const KEEP_PER_OWNER = 20_000;
/** Of all results together. Beyond it whoever holds most loses the oldest: one who never collects, not the others. */
const KEEP_BYTES = 512 * 1024 * 1024;

/**
 * Promises of the service: a request is answered with an id at once, the outcome is collected later,
 * as often as wanted and by anyone.
 */
export class FutureStore {
  private readonly futures = new Map<string, FutureEntry>();
  private readonly idsByOwner = new Map<string, Set<string>>();
  private readonly retired = new Set<string>();
  private readonly bytes: KeptBytes;

  constructor(
    private readonly keepPerOwner = KEEP_PER_OWNER,
    keepBytes = KEEP_BYTES,
  ) {
    this.bytes = new KeptBytes(keepBytes);
  }

  add(requestId: string, work: Promise<FutureResult>, { owner, waitsFor }: FutureTerms): void {
    const entry: FutureEntry = {
      waitsFor: waitsFor ?? (() => null),
      waiters: new Set(),
      outcome: null,
      settledAt: Number.POSITIVE_INFINITY,
    };
    void work.then(succeeded, failed).then((outcome) => {
      entry.outcome = outcome;
      entry.settledAt = performance.now();
      for (const answer of [...entry.waiters]) answer(outcome);
      if (this.futures.get(requestId) === entry) this.keep(requestId, owner, outcome);
    });
    this.futures.set(requestId, entry);
    this.trim(requestId, owner);
  }

  has(requestId: string): boolean {
    return this.futures.has(requestId);
  }

  waitsFor(requestId: string): Delay | null {
    return this.futures.get(requestId)?.waitsFor() ?? null;
  }

  /** The outcome, null when it is still pending after `holdMs`, undefined when the request is not known (any more). */
  async wait(requestId: string, holdMs: number): Promise<FutureOutcome | null | undefined> {
    const entry = this.futures.get(requestId);
    if (!entry || entry.outcome) return entry?.outcome ?? undefined;
    // Not a race of promises: what waits for one that never settles would be kept as long as it.
    return new Promise((resolve) => {
      const answer = (outcome: FutureOutcome | null): void => {
        clearTimeout(timer);
        entry.waiters.delete(answer);
        resolve(outcome);
      };
      const timer = setTimeout(answer, holdMs, null);
      entry.waiters.add(answer);
    });
  }

  /** The owner has ended: its latest results are kept no longer than others. */
  retire(owner: string): void {
    if (this.idsByOwner.has(owner)) this.retired.add(owner);
  }

  /** Drops a result before its time. */
  forget(requestId: string, owner: string): void {
    this.remove(requestId, owner);
  }

  dropExpired(now: number): void {
    for (const [owner, ids] of this.idsByOwner) {
      const old = [...ids].slice(0, this.retired.has(owner) ? ids.size : -KEEP_LATEST);
      for (const requestId of old) {
        const settledAt = this.futures.get(requestId)?.settledAt ?? now;
        if (now - settledAt > KEEP_FOR_MS) this.remove(requestId, owner);
      }
    }
  }

  private keep(requestId: string, owner: string, outcome: FutureOutcome): void {
    this.bytes.add(owner, requestId, outcome.kind === 'result' ? (outcome.result.bytes ?? 0) : 0);
    for (let surplus = this.bytes.surplus(); surplus; surplus = this.bytes.surplus()) {
      this.remove(surplus.requestId, surplus.owner);
    }
  }

  private trim(requestId: string, owner: string): void {
    const ids = this.idsByOwner.get(owner) ?? new Set<string>();
    this.idsByOwner.set(owner, ids);
    ids.add(requestId);
    if (ids.size <= this.keepPerOwner) return;
    for (const oldest of ids) {
      if (!this.futures.get(oldest)?.outcome) continue;
      this.remove(oldest, owner);
      break;
    }
  }

  private remove(requestId: string, owner: string): void {
    this.futures.delete(requestId);
    this.bytes.delete(owner, requestId);
    const ids = this.idsByOwner.get(owner);
    ids?.delete(requestId);
    if (ids?.size !== 0) return;
    this.idsByOwner.delete(owner);
    this.retired.delete(owner);
  }
}

function succeeded(result: FutureResult): FutureOutcome {
  return { kind: 'result', result };
}

function failed(error: unknown): FutureOutcome {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_REASON);
  const category = error instanceof DomainError ? (error.category ?? 'server') : 'server';
  return { kind: 'failure', failure: { error: message, category } };
}
