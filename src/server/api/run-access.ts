import type { TemporalAddress } from '../../config/temporal-connection';
import { DomainError } from '../../core/errors';
import { RunHandle } from '../../client/run-handle';
import type { RunSources } from '../../client/run-handle';
import { ServerLink } from '../../client/server-link';
import type { RunStore } from '../../stores/run-store';

/** Whether a Temporal server answers; without one the store does, which is said with every answer. */
export interface TemporalPresence {
  readonly isReachable: boolean;
  /** What a person should know, with the remedy; null where nothing is wrong. */
  readonly note: string | null;
}

export interface RunAccessOptions {
  readonly records: RunStore;
  /** The server there is now; stacks come and go while this program stays. */
  readonly findTemporal: () => TemporalAddress | null;
}

export interface Present {
  readonly sources: RunSources;
  readonly temporal: TemporalPresence;
}

/** How long a server that did not answer is not asked again. That it answers is asked for each answer anew. */
const AWAY_MS = 2000;
/** A server that is away must not hold up what the store knows. */
const PATIENCE_MS = 1500;
const ANSWER_LIMIT_MS = 1000;

/** The way to the runs, with the server where it answers and without it where it does not. */
export class RunAccess {
  readonly records: RunStore;
  private readonly findTemporal: RunAccessOptions['findTemporal'];
  private readonly nowhere = new ServerLink(null);
  private link: ServerLink | null = null;
  private isReachable = false;
  private checkedAt = Number.NEGATIVE_INFINITY;
  private check: Promise<void> | null = null;

  constructor({ records, findTemporal }: RunAccessOptions) {
    this.records = records;
    this.findTemporal = findTemporal;
  }

  async current(): Promise<Present> {
    await this.refresh();
    const link = this.isReachable && this.link ? this.link : this.nowhere;
    return { sources: { link, records: this.records }, temporal: this.presence() };
  }

  async handle(run: string): Promise<{ readonly handle: RunHandle; readonly temporal: TemporalPresence }> {
    const { sources, temporal } = await this.current();
    return { handle: new RunHandle(run, sources), temporal };
  }

  /** For changes, which a store cannot make. */
  async liveHandle(run: string): Promise<RunHandle> {
    const { handle, temporal } = await this.handle(run);
    if (temporal.isReachable) return handle;
    throw new DomainError('temporal-unavailable', temporal.note ?? 'No Temporal server answers.');
  }

  /** Whether the server answers at this moment, whatever was found a moment ago. */
  async look(): Promise<TemporalPresence> {
    this.checkedAt = Number.NEGATIVE_INFINITY;
    await this.refresh();
    return this.presence();
  }

  async close(): Promise<void> {
    await this.link?.close();
  }

  private async refresh(): Promise<void> {
    if (!this.isReachable && performance.now() - this.checkedAt < AWAY_MS) return;
    this.check ??= this.ask().finally(() => {
      this.checkedAt = performance.now();
      this.check = null;
    });
    if (!(await isDoneInTime(this.check))) this.isReachable = false;
  }

  private async ask(): Promise<void> {
    const target = this.findTemporal();
    if (JSON.stringify(target) !== JSON.stringify(this.link?.target ?? null)) await this.turnTo(target);
    const client = (await this.link?.find()) ?? null;
    try {
      await client?.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
        client.workflowService.getSystemInfo({}),
      );
      this.isReachable = client !== null;
    } catch {
      this.isReachable = false;
    }
  }

  private async turnTo(target: TemporalAddress | null): Promise<void> {
    const before = this.link;
    this.link = target && new ServerLink(target);
    await before?.close();
  }

  private presence(): TemporalPresence {
    if (this.isReachable) return { isReachable: true, note: null };
    const what = this.link
      ? `The Temporal server ${this.link.description} does not answer`
      : 'No Temporal server is running';
    return {
      isReachable: false,
      note: `${what}: this is what the store knows. Start it with \`npx everstep dev\`, or correct TEMPORAL_ADDRESS.`,
    };
  }
}

/** False where it takes long: it is gone on without, and the outcome counts for whoever asks next. */
async function isDoneInTime(check: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, false);
  });
  const isDone = await Promise.race([check.then(() => true), patience]);
  clearTimeout(timer);
  return isDone;
}
