import { hasErrorCode } from '../core/error-code';
import type { Leases } from './leases/leases';
import type { Sandbox, SandboxKind } from './sandbox';

export interface SandboxPoolOptions {
  readonly kind: SandboxKind;
  /** Sandboxes in use at once. */
  readonly size: number;
  readonly leases: Leases;
}

/** A sandbox that was lost is replaced so often before the failure is told. */
const ATTEMPTS = 3;
const REAP_EVERY_MS = 10_000;
/** Kept ready where opening one is slow. */
const MOST_SPARES = 2;

/**
 * Sandboxes for one use each, so that no program meets what another one left, with a bound on how many are in use.
 *
 * A place that can be made as new is used on. Work whose sandbox is lost is done again in a new one. While the pool is open it also removes what dead processes left.
 */
export class SandboxPool {
  private readonly spares: Promise<Sandbox>[] = [];
  private readonly waiting: (() => void)[] = [];
  private inUseCount = 0;
  private isClosed = false;
  private readonly reaper: NodeJS.Timeout;

  constructor(private readonly options: SandboxPoolOptions) {
    const reap = () => void options.leases.reap().catch(() => undefined);
    reap();
    this.reaper = setInterval(reap, REAP_EVERY_MS);
    this.reaper.unref();
  }

  get kind(): string {
    return this.options.kind.name;
  }

  /** `work` may be done more than once. */
  async use<Result>(work: (sandbox: Sandbox) => Promise<Result>): Promise<Result> {
    await this.takePlace();
    try {
      return await this.useUntilKept(work);
    } finally {
      this.givePlace();
    }
  }

  /** Ends the spare sandboxes. Those in use are closed by their users. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.reaper);
    for (const spare of this.spares.splice(0)) await (await spare.catch(() => null))?.close();
  }

  private async useUntilKept<Result>(work: (sandbox: Sandbox) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.useOnce(work);
      } catch (error) {
        if (attempt === ATTEMPTS || !isLost(error)) throw error;
      }
    }
  }

  private async useOnce<Result>(work: (sandbox: Sandbox) => Promise<Result>): Promise<Result> {
    const sandbox = await (this.spares.shift() ?? this.options.kind.open());
    if (!sandbox.renew) this.refill();
    try {
      return await work(sandbox);
    } finally {
      await this.giveBack(sandbox);
    }
  }

  /** One that can be made as new is the next spare; the next program may wait for it. */
  private async giveBack(sandbox: Sandbox): Promise<void> {
    if (sandbox.renew && !this.isClosed && this.spares.length < this.options.size) {
      this.keep(renewed(sandbox).then((next) => next ?? this.options.kind.open()));
      return;
    }
    // What cannot be removed now is the reaper's; the result stands.
    await sandbox.close().catch(() => undefined);
  }

  private refill(): void {
    if (!this.options.kind.isSlowToOpen || this.isClosed) return;
    while (this.spares.length < Math.min(MOST_SPARES, this.options.size)) this.keep(this.options.kind.open());
  }

  private keep(spare: Promise<Sandbox>): void {
    // Whoever takes it hears of the failure.
    spare.catch(() => undefined);
    this.spares.push(spare);
  }

  private async takePlace(): Promise<void> {
    if (this.inUseCount < this.options.size) this.inUseCount += 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private givePlace(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.inUseCount -= 1;
  }
}

async function renewed(sandbox: Sandbox): Promise<Sandbox | null> {
  const next = await sandbox.renew?.().catch(() => null);
  if (next) return next;
  await sandbox.close().catch(() => undefined);
  return null;
}

/** A plug-in's errors need not be of our class. */
function isLost(error: unknown): boolean {
  return hasErrorCode(error, 'sandbox-lost');
}
