import { DomainError } from '../../core/errors';
import type { Limiter } from './limiter';
import type { NamedNote } from './process-files';
import { ProcessFiles } from './process-files';

/** How often the others' notes are read: how soon one who joins gets his part. */
const LOOK_EVERY_MS = 250;
/** Those who join at once have seen each other by then. */
const FIRST_LOOKS_MS = [30, 80];
const WRITE_EVERY_MS = 1_000;
const LEAVE_AFTER_IDLE_MS = 2_000;

/**
 * Splits an endpoint's concurrency between all processes that use it at the moment, through one small file each.
 *
 * Who wants more claims it in his file first and takes only what the others' files leave, so that together they stay
 * within the limit while parts change; each may always have one request in flight, so that nobody starves. A process
 * without work leaves, and its part goes to the others. Where the folder cannot be read or written, the last split stays.
 */
export class SharedLimit {
  private readonly files: ProcessFiles;
  private joining: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private allowance = 1;
  private written = { limit: 0, holdMs: 0, at: -Infinity };
  private busyAt = 0;
  private looking: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: string,
    private readonly limiter: Limiter,
  ) {
    this.files = new ProcessFiles(folder);
  }

  /** Resolves once this process has its part. */
  join(): Promise<void> {
    this.busyAt = performance.now();
    this.joining ??= this.begin();
    return this.joining;
  }

  /** Lets the others know of a hold now and not at the next look. */
  tell(): void {
    if (this.joining) this.look();
  }

  async close(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    this.joining = null;
    await this.looking;
    await this.files.remove().catch(() => undefined);
  }

  private async begin(): Promise<void> {
    this.take(1);
    this.written = { limit: 0, holdMs: 0, at: -Infinity };
    try {
      // What an earlier stay left under way ends first.
      await this.looking;
      await this.adjust();
    } catch (error) {
      this.joining = null;
      throw new DomainError(
        'bad-config',
        `The folder ${this.folder}, where processes share an endpoint's limit, cannot be used (${String(error)}). Make it writable for the workers.`,
        { retryable: true, cause: error },
      );
    }
    this.timer = setInterval(() => {
      this.look();
    }, LOOK_EVERY_MS);
    this.timer.unref();
    for (const delayMs of FIRST_LOOKS_MS) {
      setTimeout(() => {
        this.look();
      }, delayMs).unref();
    }
  }

  private look(): void {
    this.looking = this.looking.then(() => this.adjust()).catch(() => undefined);
  }

  private async adjust(): Promise<void> {
    if (!this.joining) return;
    if (await this.leaveIfIdle()) return;
    // The first look writes before it reads: of two who join at once, each then sees the other.
    if (this.written.limit === 0) await this.write(this.limiter.ceiling);
    const others = await this.files.readOthers();
    for (const { holdMs, isNew } of others) if (isNew && holdMs > 0) this.limiter.hold(holdMs);
    const allowance = this.partAmong(others);
    const { inFlight } = this.limiter.state;
    const isMore = allowance > this.allowance;
    if (!isMore) this.take(allowance);
    await this.writeIfDue(Math.max(allowance, inFlight));
    if (isMore) this.take(allowance);
  }

  private take(allowance: number): void {
    this.allowance = allowance;
    this.limiter.setAllowance(allowance);
  }

  private async leaveIfIdle(): Promise<boolean> {
    const { inFlight, waiting, ownHoldMs: holdMs } = this.limiter.state;
    const now = performance.now();
    if (inFlight + waiting > 0 || holdMs > 0) this.busyAt = now;
    if (now - this.busyAt < LEAVE_AFTER_IDLE_MS) return false;
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    this.joining = null;
    await this.files.remove();
    return true;
  }

  private async writeIfDue(limit: number): Promise<void> {
    const hasNewHold = this.limiter.state.ownHoldMs > this.written.holdMs;
    const isDue = performance.now() - this.written.at >= WRITE_EVERY_MS;
    if (isDue || hasNewHold || limit !== this.written.limit) await this.write(limit);
  }

  private async write(limit: number): Promise<void> {
    const { inFlight, waiting, ownHoldMs: holdMs } = this.limiter.state;
    await this.files.write({ inFlight, waiting, limit, holdMs: Math.round(holdMs) });
    this.written = { limit, holdMs, at: performance.now() };
  }

  /** An equal part, the first by name getting what is left over; growing only into what the others leave. */
  private partAmong(others: readonly NamedNote[]): number {
    const { ceiling } = this.limiter;
    const names = [this.files.name, ...others.map(({ name }) => name)].sort();
    const rest = names.indexOf(this.files.name) < ceiling % names.length ? 1 : 0;
    const part = Math.floor(ceiling / names.length) + rest;
    const left = others.reduce((sum, { limit }) => sum - limit, ceiling);
    return Math.max(1, Math.min(part, Math.max(this.allowance, left)));
  }
}
