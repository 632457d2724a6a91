import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, writeJson } from '../../stores/whole-file';
import type { GuardedPlay, PlayGuard } from '../rollouts/deadly-plays';

interface ShardMark {
  /** Attempts that ended without a word, with no group journalled since the one before. */
  readonly deaths: number;
  readonly journalledCount: number;
  readonly isCareful: boolean;
  /** The group that was played by itself when the attempt ended. */
  readonly alone: LoneGroup | null;
}

interface LoneGroup {
  readonly group: number;
  /** How often its process died with it. */
  readonly deaths: number;
  /** What was played by itself when the attempt ended. */
  readonly playing?: GuardedPlay;
  /** With which the process died last, and how often in a row. */
  readonly suspect?: { readonly play: GuardedPlay; readonly deaths: number };
  /** Not to be played again. */
  readonly givenUp?: readonly GuardedPlay[];
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
/** Then the rollouts of the group are. */
const DEATHS_OF_GROUP = 2;
/** Then a rollout is given up. */
const DEATHS_OF_PLAY = 3;
/** Then the whole group is. */
const DEATHS_ALONE = 10;

/**
 * Finds the rollout whose environment takes the worker's process down with it, as a loop without an end, an uncaught error
 * in a timer or too much memory does, and gives it up, so that it does not take down one worker after the other.
 *
 * From the second attempt at a shard on a mark lies in the step's folder (`.shard-<first group>.json`) while an attempt runs; one
 * that is found there was left by a process that died. Workers killed for other reasons hardly meet one rollout so often.
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

  /** Before a group is played; null where all are played together. */
  async enter(group: number): Promise<GroupGuard | null> {
    const { mark, path } = this;
    if (!mark.isCareful) return null;
    const found = mark.alone?.group === group ? afterDeath(mark.alone) : null;
    const alone = found ?? { group, deaths: 0 };
    await writeJson(path, { ...mark, alone } satisfies ShardMark);
    return new GroupGuard(alone, (now) => writeJson(path, { ...mark, alone: now } satisfies ShardMark));
  }

  /** The attempt ended with a word. */
  async close(): Promise<void> {
    await rm(this.path, { force: true });
  }
}

/** Of a group that is played by itself. */
export class GroupGuard implements PlayGuard {
  constructor(
    private readonly alone: LoneGroup,
    private readonly note: (alone: LoneGroup) => Promise<void>,
  ) {}

  /** How often the process died with the group, where that is too often; 0 where it is to be played. */
  get deaths(): number {
    return this.alone.deaths >= DEATHS_ALONE ? this.alone.deaths : 0;
  }

  get isOneByOne(): boolean {
    return this.alone.deaths >= DEATHS_OF_GROUP;
  }

  async enter(play: GuardedPlay): Promise<number> {
    const { alone } = this;
    if (!this.isOneByOne) return 0;
    if (alone.givenUp?.some((other) => isSame(other, play))) return DEATHS_OF_PLAY;
    await this.note({ ...alone, playing: play });
    return 0;
  }
}

function afterDeath({ playing, ...alone }: LoneGroup): LoneGroup {
  const deaths = alone.deaths + 1;
  if (playing === undefined) return { ...alone, deaths };
  const { suspect, givenUp = [], ...rest } = alone;
  const inRow = suspect && isSame(suspect.play, playing) ? suspect.deaths + 1 : 1;
  if (inRow < DEATHS_OF_PLAY) return { ...rest, deaths, givenUp, suspect: { play: playing, deaths: inRow } };
  return { ...rest, deaths, givenUp: [...givenUp, playing] };
}

function isSame(one: GuardedPlay, other: GuardedPlay): boolean {
  return one.member === other.member && one.redraw === other.redraw;
}
