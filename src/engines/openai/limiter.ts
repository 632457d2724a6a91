import { largestOf } from '../../core/extremes';
import type { Cancellation } from './cancellation';
import type { Bound, Sent } from './server-capacity';
import { ServerCapacity } from './server-capacity';

interface Waiter {
  readonly grant: (sent: Sent) => void;
}

export interface LimiterState {
  readonly inFlight: number;
  readonly waiting: number;
  /** What may be in flight now. */
  readonly limit: number;
  /** How long nothing is sent. */
  readonly holdMs: number;
  /** How much of it this process was told by the server itself. */
  readonly ownHoldMs: number;
}

const FIRST_HOLD_MS = 1000;
/** So that what was refused is not sent again before it is heard how much of a burst was. */
const AFTER_A_BURST_MS = 200;
const LONGEST_HOLD_MS = 30_000;
/** A server that is full and asks for no wait at all is not asked again at once. */
const SHORTEST_HOLD_MS = 50;

/**
 * Who may send now: first come, first served among all who use one endpoint in this process.
 *
 * A request that was refused goes before those that were never sent.
 */
export class Limiter {
  private readonly capacity: ServerCapacity;
  private readonly fresh = new Set<Waiter>();
  private readonly refusedOnce = new Set<Waiter>();
  private readonly ceilings: number[];
  private inFlight = 0;
  private allowance = Infinity;
  private heldUntil = -Infinity;
  private ownHoldUntil = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  /** Where requests a second are limited: when the next one may go. */
  private nextAt = -Infinity;
  private paceTimer: NodeJS.Timeout | null = null;
  private trialTimer: NodeJS.Timeout | null = null;

  /** `onHold`: told when the server asks this process to wait. */
  constructor(private readonly onHold: () => void = () => undefined) {
    this.capacity = new ServerCapacity(1, performance.now());
    this.ceilings = [];
  }

  /** The largest concurrency that somebody who uses the endpoint now has asked for. */
  get ceiling(): number {
    return Math.max(1, largestOf(this.ceilings));
  }

  get state(): LimiterState {
    return {
      inFlight: this.inFlight,
      waiting: this.fresh.size + this.refusedOnce.size,
      limit: this.limit,
      holdMs: Math.max(0, this.heldUntil - performance.now()),
      ownHoldMs: Math.max(0, this.ownHoldUntil - performance.now()),
    };
  }

  addCeiling(ceiling: number): void {
    this.ceilings.push(ceiling);
    this.capacity.setCeiling(this.ceiling);
    this.serve();
  }

  removeCeiling(ceiling: number): void {
    this.ceilings.splice(this.ceilings.indexOf(ceiling), 1);
    this.capacity.setCeiling(this.ceiling);
  }

  /** This process's part of what all processes may have in flight. */
  setAllowance(allowance: number): void {
    this.allowance = allowance;
    this.serve();
  }

  acquire(cancellation: Cancellation, wasRefused: boolean): Promise<Sent> {
    const queue = wasRefused ? this.refusedOnce : this.fresh;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        grant: (sent) => {
          cancellation.ignore();
          resolve(sent);
        },
      };
      queue.add(waiter);
      cancellation.listen((reason) => {
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the caller's own reason
        if (queue.delete(waiter)) reject(reason);
      });
      this.serve();
    });
  }

  release(): void {
    this.inFlight -= 1;
    this.serve();
  }

  answered(sent: Sent): void {
    const trialInMs = this.capacity.answered(sent, performance.now(), this.heldBackBy);
    if (trialInMs === null) return;
    this.trialTimer ??= setTimeout(() => {
      this.trialTimer = null;
      this.capacity.tryOneMore();
      this.serve();
    }, trialInMs);
    this.trialTimer.unref();
  }

  /**
   * A refusal for lack of capacity: no more than were taken from now on, and nothing at all until the wait is over. A server that asks for
   * none is left alone only where nothing was answered between its refusals.
   */
  refused(sent: Sent, waitMs: number | null): void {
    const holdMs = waitMs === null ? 0 : Math.max(waitMs, SHORTEST_HOLD_MS);
    const before = this.capacity.pace;
    const isNew = this.capacity.refused({ sent, now: performance.now(), holdMs });
    const { refusals, pace } = this.capacity;
    if (waitMs !== null) this.holdForAll(holdMs);
    else if (isNew && (refusals > 1 || this.capacity.limit === 1)) this.holdForAll(backoffMs(refusals));
    else if (before === Infinity && pace < Infinity) this.holdForAll(backoffMs(1));
    else if (isNew) this.holdForAll(AFTER_A_BURST_MS);
  }

  /** Sends nothing for so long. */
  hold(waitMs: number): void {
    const until = performance.now() + waitMs;
    if (until <= this.heldUntil) return;
    this.heldUntil = until;
    // What a wait costs is not made up for.
    this.nextAt = Math.max(this.nextAt, until);
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.heldUntil = -Infinity;
      this.serve();
    }, waitMs);
    // Whoever waits for a turn keeps the process alive; a hold alone need not.
    if (this.state.waiting === 0) this.timer.unref();
  }

  close(): void {
    if (this.timer) clearTimeout(this.timer);
    if (this.paceTimer) clearTimeout(this.paceTimer);
    if (this.trialTimer) clearTimeout(this.trialTimer);
  }

  private holdForAll(waitMs: number): void {
    this.ownHoldUntil = Math.max(this.ownHoldUntil, performance.now() + waitMs);
    this.hold(waitMs);
    this.onHold();
  }

  private get limit(): number {
    return Math.min(this.capacity.limit, this.allowance);
  }

  private get heldBackBy(): Bound | null {
    if (this.state.waiting === 0) return null;
    // The one that was answered just now is still counted.
    return this.inFlight >= this.limit ? 'limit' : 'pace';
  }

  private serve(): void {
    if (performance.now() < this.heldUntil) {
      this.timer?.ref();
      return;
    }
    while (this.inFlight < this.limit && this.state.waiting > 0) {
      const now = performance.now();
      if (now < this.nextAt) {
        this.serveAt(this.nextAt - now);
        return;
      }
      const waiter = takeFirst(this.refusedOnce) ?? takeFirst(this.fresh);
      if (!waiter) return;
      const apartMs = 1000 / this.capacity.pace;
      // An unlimited pace is no distance at all.
      this.nextAt = Math.max(this.nextAt, now - apartMs) + apartMs;
      this.inFlight += 1;
      waiter.grant({ ordinal: this.inFlight, at: now });
    }
  }

  private serveAt(waitMs: number): void {
    this.paceTimer ??= setTimeout(() => {
      this.paceTimer = null;
      this.serve();
    }, waitMs);
  }
}

function takeFirst(queue: Set<Waiter>): Waiter | null {
  for (const waiter of queue) {
    queue.delete(waiter);
    return waiter;
  }
  return null;
}

/** With up to a quarter less, so that processes do not knock together. */
function backoffMs(cutCount: number): number {
  return Math.min(LONGEST_HOLD_MS, FIRST_HOLD_MS * 2 ** (cutCount - 1)) * (1 - Math.random() / 4);
}
