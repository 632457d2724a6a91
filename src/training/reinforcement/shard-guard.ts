import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, writeJson } from '../../stores/whole-file';

interface ShardMark {
  /** Attempts that ended without a word, with no group journalled since the one before. */
  readonly deaths: number;
  readonly journalledCount: number;
  readonly isCareful: boolean;
  /** The group that was played by itself when the attempt ended, and how often its process died with it. */
  readonly alone: { readonly group: number; readonly deaths: number } | null;
}

interface GuardedShard {
  /** Of the run. */
  readonly folder: string;
  readonly step: number;
  readonly firstGroup: number;
  /** Groups of the shard that are journalled. */
  readonly journalledCount: number;
  /** From 1. */
  readonly attempt: number;
}

/** Then groups are played one by one, so that it shows which one it is. */
const DEATHS_TOGETHER = 2;
const DEATHS_ALONE = 5;

/**
 * Finds the group whose environment takes the worker's process down with it, as an uncaught error in a timer or too much
 * memory does, and gives it up, so that it does not take down one worker after the other.
 *
 * From the second attempt at a shard on a mark lies in the step's folder (`.shard-<first group>.json`) while an attempt runs; one
 * that is found there was left by a process that died. Workers killed for other reasons hardly meet one group so often.
 */
export async function openShardGuard(shard: GuardedShard): Promise<ShardGuard | null> {
  const { folder, step, firstGroup, attempt, journalledCount } = shard;
  const path = join(folder, 'rollouts', String(step), `.shard-${firstGroup}.json`);
  if (attempt === 1) {
    await rm(path, { force: true });
    return null;
  }
  const found = await readJson<ShardMark>(path);
  const deaths = found?.journalledCount === journalledCount ? found.deaths + 1 : 0;
  const isCareful = found?.isCareful === true || deaths >= DEATHS_TOGETHER;
  const guard = new ShardGuard(path, { deaths, journalledCount, isCareful, alone: found?.alone ?? null });
  await guard.open();
  return guard;
}

export class ShardGuard {
  constructor(
    private readonly path: string,
    private readonly mark: ShardMark,
  ) {}

  /** Whether groups are to be played one by one. */
  get isCareful(): boolean {
    return this.mark.isCareful;
  }

  open(): Promise<void> {
    return writeJson(this.path, this.mark);
  }

  /** How often the process died with the group alone, where that is too often; 0 where it is to be played. */
  async deathsOf(group: number): Promise<number> {
    const { mark } = this;
    if (!mark.isCareful) return 0;
    const deaths = mark.alone?.group === group ? mark.alone.deaths + 1 : 0;
    if (deaths >= DEATHS_ALONE) return deaths;
    await writeJson(this.path, { ...mark, alone: { group, deaths } } satisfies ShardMark);
    return 0;
  }

  /** The attempt ended with a word. */
  async close(): Promise<void> {
    await rm(this.path, { force: true });
  }
}
