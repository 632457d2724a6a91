import type { CheckpointMeta } from './checkpoint-files';
import { formatCheckpointPath } from './checkpoint-path';
import type { BootClock, KeptLooks } from './kept-looks';

export interface Clocks {
  /** What the system calls the time; it can be set, also by mistake and by days. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly elapsed: () => number;
  /** By which looks are handed on to the next engine; without it each engine begins anew. */
  readonly boot?: BootClock | null;
}

/** How far the time may have moved otherwise than the machine's elapsed time between two engines. */
const DRIFT_MS = 60_000;

/** How long the time must say so where nothing else is known of a checkpoint's age. */
const BETWEEN_LOOKS_MS = 3_600_000;

/** What was known when a checkpoint was first looked at with this end. */
interface FirstLook {
  readonly expiresAt: string;
  /** Elapsed time at which its life ends by a clock that nobody sets; null where it was over already, by however much. */
  readonly end: number | null;
  /** Elapsed time at which it was first seen to be over. */
  over: number | null;
}

/**
 * Which checkpoints are over: those whose end the time has passed, and whose life since they were first looked at is over by a
 * clock that nobody sets; or that the time said were over at two looks an hour apart, and at each between them, as those that
 * ended while no engine ran. A clock that jumps and is put right within the hour ends none.
 *
 * Engines that live for minutes only hand their looks on: the hour goes on with the next one, unless the machine was started anew
 * or its time moved otherwise meanwhile than the clock that nobody sets.
 */
export class Expiry {
  private readonly looks = new Map<string, FirstLook>();

  constructor(
    private readonly clocks: Clocks,
    private readonly kept: KeptLooks | null = null,
  ) {}

  /** From now on the life of a checkpoint that has an end is measured. */
  watch(meta: CheckpointMeta): void {
    this.look(meta);
  }

  /** Watched first where it was not. */
  isOver(meta: CheckpointMeta): boolean {
    const look = this.look(meta);
    if (look === null || look.over === null) return false;
    const elapsed = this.clocks.elapsed();
    return (look.end !== null && elapsed >= look.end) || elapsed - look.over >= BETWEEN_LOOKS_MS;
  }

  forget(meta: {
    readonly modelId: string;
    readonly kind: CheckpointMeta['kind'];
    readonly name: string;
  }): void {
    this.looks.delete(formatCheckpointPath(meta));
  }

  /** What the next engine has to know; null where it could not tell how long ago it was. */
  handOn(): KeptLooks | null {
    const { boot } = this.clocks;
    if (!boot) return null;
    const [now, elapsed, ownElapsed] = [this.clocks.now(), boot.elapsed(), this.clocks.elapsed()];
    const looks: KeptLooks['looks'] = {};
    for (const [path, { expiresAt, over }] of this.looks)
      if (over !== null) looks[path] = { expiresAt, over: elapsed - (ownElapsed - over) };
    return { boot: boot.id, now, elapsed, looks };
  }

  /** Elapsed time of this engine at which one before it saw this end to be over; null where none did, or the clocks disagree. */
  private overBefore(path: string, expiresAt: string): number | null {
    const { boot } = this.clocks;
    const look = this.kept?.looks[path];
    if (!this.kept || !boot || this.kept.boot !== boot.id || look?.expiresAt !== expiresAt) return null;
    const elapsed = boot.elapsed();
    const passed = elapsed - this.kept.elapsed;
    const isSame = passed >= 0 && Math.abs(this.clocks.now() - this.kept.now - passed) <= DRIFT_MS;
    return isSame ? this.clocks.elapsed() - Math.max(0, elapsed - look.over) : null;
  }

  /** What is known of its end by now; null where it has none. */
  private look(meta: CheckpointMeta): FirstLook | null {
    const path = formatCheckpointPath(meta);
    const { expiresAt } = meta;
    if (expiresAt === null) {
      this.looks.delete(path);
      return null;
    }
    const elapsed = this.clocks.elapsed();
    const left = Date.parse(expiresAt) - this.clocks.now();
    const known = this.looks.get(path);
    const look =
      known?.expiresAt === expiresAt
        ? known
        : { expiresAt, end: left > 0 ? elapsed + left : null, over: this.overBefore(path, expiresAt) };
    look.over = left > 0 ? null : (look.over ?? elapsed);
    this.looks.set(path, look);
    return look;
  }
}

/** The newest of each model that training can go on from. */
export function newestStates(checkpoints: Iterable<CheckpointMeta>): ReadonlyMap<string, CheckpointMeta> {
  const newest = new Map<string, CheckpointMeta>();
  for (const meta of checkpoints) {
    if (meta.kind !== 'weights') continue;
    const other = newest.get(meta.modelId);
    if (!other || isLater(meta, other)) newest.set(meta.modelId, meta);
  }
  return newest;
}

/** Requests of a model are numbered in the order of its steps, which no clock changes. */
function isLater(one: CheckpointMeta, other: CheckpointMeta): boolean {
  return one.sequence === other.sequence ? one.createdAt > other.createdAt : one.sequence > other.sequence;
}
