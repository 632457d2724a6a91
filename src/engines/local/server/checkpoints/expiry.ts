import type { CheckpointMeta } from './checkpoint-files';
import { formatCheckpointPath } from './checkpoint-path';

export interface Clocks {
  /** What the system calls the time; it can be set, also by mistake and by days. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly elapsed: () => number;
}

/** As long as the shortest life that a run gives its checkpoints. */
const BETWEEN_LOOKS_MS = 3_600_000;

/**
 * Which checkpoints are over: those that the time said were at two looks an hour apart, and at each between them. A clock that jumps and
 * is put right within the hour ends none.
 */
export class Expiry {
  /** When each was first seen to be over, in elapsed time. */
  private readonly firstSeen = new Map<string, number>();

  constructor(private readonly clocks: Clocks) {}

  isOver(meta: CheckpointMeta): boolean {
    const path = formatCheckpointPath(meta);
    if (meta.expiresAt === null || Date.parse(meta.expiresAt) > this.clocks.now()) {
      this.firstSeen.delete(path);
      return false;
    }
    const elapsed = this.clocks.elapsed();
    const seen = this.firstSeen.get(path) ?? elapsed;
    this.firstSeen.set(path, seen);
    return elapsed - seen >= BETWEEN_LOOKS_MS;
  }

  forget(meta: {
    readonly modelId: string;
    readonly kind: CheckpointMeta['kind'];
    readonly name: string;
  }): void {
    this.firstSeen.delete(formatCheckpointPath(meta));
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
