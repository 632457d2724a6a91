/** Of a request that was let through: what was in flight with it, itself included, and when. */
export interface Sent {
  readonly ordinal: number;
  readonly at: number;
}

/** What keeps a request back: how many are in flight, or how soon it would follow the one before. */
export type Bound = 'limit' | 'pace';

export interface Refusal {
  readonly sent: Sent;
  readonly now: number;
  /** How long the server asks everybody to wait; 0 where it does not. */
  readonly holdMs: number;
}

/** Answers are counted over at least so long, and over so many times what one takes. */
const LEAST_COUNTED_MS = 5_000;
const MOST_COUNTED_MS = 30_000;
const COUNTED_ANSWERS = 3;
/** Refusals of what was sent within this time of one another tell one thing. */
const ONE_EPISODE_MS = 200;
/** Of a limit that is met again and again, more is tried ever more rarely. */
const FIRST_TRIAL_MS = 5_000;
const LAST_TRIAL_MS = 60_000;
/** A trial that costs everybody a wait comes so much later that the wait hardly counts. */
const HOLDS_PER_TRIAL = 50;
const PACE_DOWN = 0.97;
const FIRST_PACE_UP = 0.1;
const NEXT_PACE_UP = 0.02;
const MOST_PACE_UP = 0.5;
/** Its multiples are spread evenly between whole numbers. */
const GOLDEN_RATIO = 0.618034;
/** Of a round of answers, where no limit is known any more. */
const FAST_GROWTH = 1.5;

/**
 * What a server is believed to take: so many requests at once (`limit`), and so many a second (`pace`, infinite until it is known).
 *
 * The refusals of a burst tell how many were taken: the first one refused was one too many. Where a request is refused beside no more others than were
 * taken before, the limit is one of time, and what was answered a second is the pace. Beyond a known limit one request more is tried now
 * and then, more rarely each time it fails, so that a server is kept full and hardly ever refuses.
 */
export class ServerCapacity {
  private window: number;
  /** In flight with one that was refused, when last heard; more is only tried. */
  private tooMany = Infinity;
  /** The most in flight with one that was taken since `tooMany` was heard. */
  private mostTaken = 0;
  /** The same when the present refusals began. */
  private takenBefore = 0;
  private perSecond = Infinity;
  /** Before the last trial of more; null where it was refused too. */
  private paceThatHeld: number | null = null;
  private episodeFrom = -Infinity;
  private trialMs = FIRST_TRIAL_MS;
  private paceUp = FIRST_PACE_UP;
  private nextTrialAt = -Infinity;
  private meanMs = 0;
  private answersAt: number[] = [];
  private refusedInARow = 0;
  private trialCount = 0;

  constructor(
    private ceiling: number,
    private readonly begunAt: number,
  ) {
    this.window = ceiling;
  }

  get limit(): number {
    return Math.max(1, Math.floor(Math.min(this.window, this.ceiling)));
  }

  /** Requests a second. */
  get pace(): number {
    return this.perSecond;
  }

  /** Episodes of refusals without an answer in between. */
  get refusals(): number {
    return this.refusedInARow;
  }

  setCeiling(ceiling: number): void {
    if (this.window >= this.ceiling) this.window = Math.min(ceiling, this.tooMany - 1);
    this.ceiling = ceiling;
  }

  /**
   * `heldBackBy`: what others wait for now; null where none does. Returns after how many milliseconds `tryOneMore` is to be called; null where
   * it is not.
   */
  answered(sent: Sent, now: number, heldBackBy: Bound | null): number | null {
    const tookMs = now - sent.at;
    this.meanMs = this.meanMs === 0 ? tookMs : this.meanMs * 0.9 + tookMs * 0.1;
    this.answersAt.push(now);
    this.forgetAnswers(now);
    this.refusedInARow = 0;
    if (sent.at > this.episodeFrom) this.taken(sent.ordinal);
    // Of a burst in part refused: no more than are let through now are known to be taken.
    else this.mostTaken = Math.max(this.mostTaken, Math.min(sent.ordinal, this.limit));
    return heldBackBy === null ? null : this.tryMore(now, heldBackBy);
  }

  /** Beyond a known limit, until it is heard whether that was too many. */
  tryOneMore(): void {
    this.window = Math.min(this.ceiling, this.window + 1);
  }

  /** True where this begins an episode. */
  refused({ sent, now, holdMs }: Refusal): boolean {
    this.forgetAnswers(now);
    const isLate = sent.at <= this.episodeFrom;
    if (isLate) {
      this.refusedToo(sent, now);
      return false;
    }
    this.takenBefore = this.mostTaken;
    const wasTried = sent.ordinal >= this.tooMany || this.isPaced;
    // Nobody knows yet what an even pace may be.
    this.paceUp = this.isPaced ? NEXT_PACE_UP : FIRST_PACE_UP;
    if (sent.ordinal <= this.mostTaken) this.slowDown(now);
    else this.shrinkTo(sent.ordinal - 1);
    this.trialMs = wasTried ? Math.min(LAST_TRIAL_MS, this.trialMs * 2) : FIRST_TRIAL_MS;
    this.nextTrialAt = now + holdMs + Math.max(this.trialMs, holdMs * HOLDS_PER_TRIAL);
    this.episodeFrom = Math.max(now, sent.at + ONE_EPISODE_MS);
    this.refusedInARow += 1;
    return true;
  }

  /** Another of the same burst: how many got through is known better. */
  private refusedToo(sent: Sent, now: number): void {
    if (this.isPaced) return;
    if (sent.ordinal > this.takenBefore) {
      this.shrinkTo(sent.ordinal - 1);
      return;
    }
    this.window = Math.max(this.window, this.takenBefore);
    this.slowDown(now);
  }

  private get isPaced(): boolean {
    return this.perSecond < Infinity;
  }

  private taken(ordinal: number): void {
    this.mostTaken = Math.max(this.mostTaken, ordinal);
    // What was one too many once is not now: the limit is another one.
    if (ordinal >= this.tooMany) {
      this.tooMany = Infinity;
      this.trialMs = FIRST_TRIAL_MS;
    }
  }

  private shrinkTo(size: number): void {
    this.window = Math.max(1, Math.min(this.window, size));
    this.tooMany = this.window + 1;
    this.mostTaken = Math.min(this.mostTaken, this.window);
  }

  /** Back to the pace that held before more was tried, and below it where that is refused as well. */
  private slowDown(now: number): void {
    const held =
      this.paceThatHeld ?? Math.min(this.perSecond * PACE_DOWN, this.answersPerSecond(now) ?? Infinity);
    this.paceThatHeld = null;
    this.perSecond = Math.max(0.01, held);
  }

  /** Null until something was answered. */
  private answersPerSecond(now: number): number | null {
    if (this.answersAt.length === 0) return null;
    const overMs = Math.min(this.countedMs, Math.max(now - this.begunAt, 1_000));
    return (this.answersAt.length / overMs) * 1000;
  }

  private get countedMs(): number {
    return Math.min(MOST_COUNTED_MS, Math.max(LEAST_COUNTED_MS, this.meanMs * COUNTED_ANSWERS));
  }

  private forgetAnswers(now: number): void {
    const from = now - this.countedMs;
    let count = 0;
    while ((this.answersAt[count] ?? Infinity) < from) count++;
    if (count > 0) this.answersAt = this.answersAt.slice(count);
  }

  private tryMore(now: number, heldBackBy: Bound): number | null {
    const isKnown = this.window + 1 >= this.tooMany;
    if (heldBackBy === 'limit' && !isKnown) {
      // A round of answers multiplies the window, each answer has its part of that.
      this.window = Math.min(this.ceiling, this.window + Math.max(1 / this.window, FAST_GROWTH - 1));
      return null;
    }
    if (now < this.nextTrialAt) return null;
    this.nextTrialAt = now + Math.max(this.trialMs, this.meanMs);
    if (heldBackBy === 'pace') {
      this.quicken();
      return null;
    }
    // Not with those that were answered together: a server that counts a second would find it one too many there. Each time elsewhere.
    this.trialCount += 1;
    return this.meanMs * ((this.trialCount * GOLDEN_RATIO) % 1);
  }

  /** The longer nothing is refused, the more is tried, and the sooner. */
  private quicken(): void {
    if (this.paceThatHeld !== null) this.trialMs = Math.max(FIRST_TRIAL_MS, this.trialMs / 2);
    this.paceThatHeld = this.perSecond;
    this.perSecond *= 1 + this.paceUp;
    this.paceUp = Math.min(MOST_PACE_UP, this.paceUp * 2);
  }
}
