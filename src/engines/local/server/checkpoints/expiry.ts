import type { CheckpointMeta } from './checkpoint-files';
import { formatCheckpointPath } from './checkpoint-path';

export interface Clocks {
  /** What the system calls the time; it can be set, also by mistake and by days. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly elapsed: () => number;
}

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
 */
export class Expiry {
  private readonly looks = new Map<string, FirstLook>();

  constructor(private readonly clocks: Clocks) {}

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
        : { expiresAt, end: left > 0 ? elapsed + left : null, over: null };
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
