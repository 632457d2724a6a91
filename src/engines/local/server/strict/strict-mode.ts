import type { SeededStrikes, Strike, Trouble } from './strike';
import { seededTrouble } from './strike';
import { Tokens } from './tokens';

/** How much of the official service's behaviour the engine shows, and what befalls its clients. */
export interface StrictOptions {
  /** Keys it takes; without any, whatever begins with `tml-`. */
  readonly apiKeys?: readonly string[];
  readonly tokenLifeMs?: number;
  /** Models it lists besides its own, as a service with a catalogue does. They cannot be opened. */
  readonly alsoOffers?: readonly string[];
  /** Losses it refuses although it could compute them. */
  readonly refusedLosses?: readonly string[];
  readonly maxBodyBytes?: number;
  readonly maxChunkDatums?: number;
  readonly maxChunkBytes?: number;
  /** Results larger than this are announced with their size before they are sent. */
  readonly announcedAboveBytes?: number;
  /** What `Retry-After` says, and how long a promise that is `paused` once stays so. */
  readonly retryAfterMs?: number;
  readonly strikes?: readonly Strike[];
  readonly seeded?: SeededStrikes;
  /** By which tokens end, in milliseconds; default the machine's clock. */
  readonly now?: () => number;
}

export interface StrictLimits {
  readonly bodyBytes: number;
  readonly chunkDatums: number;
  readonly chunkBytes: number;
  readonly announcedAboveBytes: number;
}

/** What a strike met. */
export interface Struck {
  readonly trouble: Trouble;
  readonly route: string;
  readonly ordinal: number;
}

interface Pending {
  readonly strike: Strike;
  since: number | null;
}

interface AskedPromise {
  readonly ordinal: number;
  readonly trouble: Trouble | null;
  readonly since: number;
}

/** Never struck by what strikes anything: they are repeated by themselves. */
const NOT_ANY = ['session_heartbeat', 'client/config', 'auth/token'];
const MEBIBYTE = 1024 * 1024;
const KEPT_STRUCK = 10_000;

/**
 * The engine in the ways of the official service, as far as they are known: keys that are exchanged for tokens,
 * protobuf where the service reads nothing else, fields that must be known, limits, and troubles that strike by list or by seed.
 */
export class StrictMode {
  readonly tokens: Tokens;
  readonly now: () => number;
  readonly limits: StrictLimits;
  readonly retryAfterMs: number;
  /** What has struck so far, in order. */
  readonly struck: Struck[] = [];
  private readonly pending: Pending[];
  private readonly counts = new Map<string, number>();
  private readonly promises = new Map<string, AskedPromise>();

  constructor(readonly options: StrictOptions = {}) {
    this.tokens = new Tokens(options.tokenLifeMs ?? 600_000);
    this.now = options.now ?? Date.now;
    this.retryAfterMs = options.retryAfterMs ?? 1000;
    this.limits = {
      bodyBytes: options.maxBodyBytes ?? 32 * MEBIBYTE,
      chunkDatums: options.maxChunkDatums ?? 1024,
      chunkBytes: options.maxChunkBytes ?? 5_000_000,
      announcedAboveBytes: options.announcedAboveBytes ?? 64 * 1024,
    };
    this.pending = (options.strikes ?? []).map((strike) => ({ strike, since: null }));
  }

  takes(key: string): boolean {
    const { apiKeys } = this.options;
    return apiKeys ? apiKeys.includes(key) : /^tml-\S+$/.test(key);
  }

  /** Adds a strike; its `at` counts from the next request of the route. */
  strike(strike: Strike): void {
    const done = this.counts.get(strike.route) ?? 0;
    this.pending.push({ strike: { ...strike, at: strike.at + done }, since: null });
  }

  /** Ends every trouble, as when somebody pays. */
  lift(): void {
    this.pending.length = 0;
  }

  /** Requests of a route, or promises of a kind, seen so far. */
  seen(route: string): number {
    return this.counts.get(route) ?? 0;
  }

  /** What befalls this request; null for nothing. */
  meet(route: string, now: number): Trouble | null {
    const ordinal = this.count(route);
    const ofAny = NOT_ANY.includes(route) ? null : { route: '*', ordinal: this.count('*') };
    const places = [{ route, ordinal }, ...(ofAny ? [ofAny] : [])];
    const trouble = this.find(places, now) ?? this.seeded(route, ordinal);
    return this.note(trouble, route, ordinal);
  }

  /**
   * What befalls a promise that is asked for, by its own number among those of its kind. Only what is lost, failed or paused meets
   * the later questions after the same promise too.
   */
  meetPromise(kind: string, requestId: string, now: number): Trouble | null {
    const route = `retrieve_future/${kind}`;
    const asked = this.promises.get(requestId);
    if (asked) return this.note(this.lasting(asked, route, now), route, asked.ordinal);
    const ordinal = this.count(route);
    const trouble = this.find([{ route, ordinal }], now) ?? this.seeded(route, ordinal);
    this.promises.set(requestId, { ordinal, trouble, since: now });
    return this.note(trouble, route, ordinal);
  }

  private lasting({ ordinal, trouble, since }: AskedPromise, route: string, now: number): Trouble | null {
    const isPaused = trouble === 'paused' && now - since < this.retryAfterMs;
    if (isPaused || trouble === 'promise-lost' || trouble === 'work-failed') return trouble;
    const timed = this.pending.filter(({ strike }) => strike.forMs !== undefined);
    return this.find([{ route, ordinal }], now, timed);
  }

  private count(route: string): number {
    const ordinal = (this.counts.get(route) ?? 0) + 1;
    this.counts.set(route, ordinal);
    return ordinal;
  }

  private seeded(route: string, ordinal: number): Trouble | null {
    const { seeded } = this.options;
    if (!seeded || NOT_ANY.includes(route)) return null;
    return seededTrouble(seeded, route, ordinal);
  }

  private find(
    places: readonly { readonly route: string; readonly ordinal: number }[],
    now: number,
    among: readonly Pending[] = this.pending,
  ): Trouble | null {
    for (const pending of among) {
      const place = places.find(({ route }) => route === pending.strike.route);
      if (place && isMet(pending, place.ordinal, now)) return pending.strike.trouble;
    }
    return null;
  }

  private note(trouble: Trouble | null, route: string, ordinal: number): Trouble | null {
    if (trouble !== null && this.struck.length < KEPT_STRUCK) this.struck.push({ trouble, route, ordinal });
    return trouble;
  }
}

function isMet(pending: Pending, ordinal: number, now: number): boolean {
  const { at, count, forMs } = pending.strike;
  if (ordinal < at) return false;
  pending.since ??= now;
  if (forMs !== undefined) return now - pending.since < forMs;
  return ordinal < at + (count ?? 1);
}
