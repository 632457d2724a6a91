import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeathNote, ForeignWork } from '../../evaluation/foreign-work';
import { keepNote } from '../../evaluation/foreign-work';
import { readJson, writeJson, writeJsonNow } from '../../stores/whole-file';
import type { Deadliness, GuardedPlay, PlayGuard } from '../rollouts/deadly-plays';

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
  readonly suspect?: Suspect;
  /** Not to be played again. */
  readonly givenUp?: readonly GivenUp[];
}

interface Suspect {
  readonly play: GuardedPlay;
  readonly deaths: number;
  /** Those of which it is known that they were its doing, and what the last one was. */
  readonly blamed?: { readonly count: number; readonly cause: string };
}

/** Marks of an older release say neither how often nor why. */
type GivenUp = GuardedPlay & Partial<Deadliness>;

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
/** Or where it is known that they were its doing. */
const BLAMED_DEATHS_OF_PLAY = 2;
/** Then the whole group is. */
const DEATHS_ALONE = 10;

/**
 * Finds the rollout whose environment takes the worker's process down with it, as a loop without an end, an uncaught error
 * in a timer or too much memory does, and gives it up, so that it does not take down one worker after the other.
 *
 * From the second attempt at a shard on a mark lies in the step's folder (`.shard-<first group>.json`) while an attempt runs; one
 * that is found there was left by a process that died, or by one of which it is known whose doing its end was. Workers killed for
 * other reasons hardly meet one rollout so often.
 */
export async function openShardGuard(shard: GuardedShard): Promise<ShardGuard> {
  const { folder, step, firstGroup, attempt, journalledCount } = shard;
  const path = join(folder, 'rollouts', String(step), `.shard-${firstGroup}.json`);
  if (attempt === 1) {
    await rm(path, { force: true });
    return new ShardGuard(path, { deaths: 0, journalledCount, isCareful: false, alone: null });
  }
  const found = await readJson<ShardMark>(path);
  const deaths = found?.journalledCount === journalledCount ? found.deaths + 1 : 0;
  const isCareful = found?.isCareful === true || deaths >= DEATHS_TOGETHER;
  const guard = new ShardGuard(path, { deaths, journalledCount, isCareful, alone: found?.alone ?? null });
  await guard.open();
  return guard;
}

export class ShardGuard {
  /** What was written last of the group that is played by itself. */
  private alone: LoneGroup | null;
  private readonly note = {
    excuse: () => {
      const { mark, alone } = this;
      // One is counted for this end when the mark is found.
      const excused = alone && { ...withoutPlay(alone), deaths: alone.deaths - 1 };
      if (this.isMarked) writeJsonNow(this.path, { ...mark, deaths: mark.deaths - 1, alone: excused });
    },
  };
  private readonly dropNote = keepNote(this.note);
  private isMarked = false;

  constructor(
    private readonly path: string,
    private readonly mark: ShardMark,
  ) {
    this.alone = mark.alone;
  }

  /** Whether groups are to be played one by one. */
  get isCareful(): boolean {
    return this.mark.isCareful;
  }

  async open(): Promise<void> {
    this.isMarked = true;
    await writeJson(this.path, this.mark);
  }

  /** Before a group is played. */
  async enter(group: number): Promise<GroupGuard> {
    const { mark } = this;
    const found = mark.alone?.group === group ? afterDeath(mark.alone) : null;
    const alone = found ?? { group, deaths: 0 };
    if (mark.isCareful) await this.write(alone);
    const blame = (known: LoneGroup) => {
      writeJsonNow(this.path, { ...mark, isCareful: true, alone: known });
    };
    return new GroupGuard(alone, (now) => this.write(now), { note: this.note, blame });
  }

  /** The attempt ended with a word. */
  async close(): Promise<void> {
    this.dropNote();
    await rm(this.path, { force: true });
  }

  private async write(alone: LoneGroup): Promise<void> {
    this.alone = alone;
    await writeJson(this.path, { ...this.mark, alone } satisfies ShardMark);
  }
}

interface GroupCounts {
  readonly note: DeathNote;
  readonly blame: (known: LoneGroup) => void;
}

/** Of a group that is played. */
export class GroupGuard implements PlayGuard {
  constructor(
    private readonly alone: LoneGroup,
    private readonly write: (alone: LoneGroup) => Promise<void>,
    private readonly counts: GroupCounts,
  ) {}

  /** How often the process died with the group, where that is too often; 0 where it is to be played. */
  get deaths(): number {
    return this.alone.deaths >= DEATHS_ALONE ? this.alone.deaths : 0;
  }

  get isOneByOne(): boolean {
    return this.alone.deaths >= DEATHS_OF_GROUP;
  }

  countsOf(play: GuardedPlay): NonNullable<ForeignWork['counts']> {
    const { note, blame } = this.counts;
    return {
      note,
      blame: (cause) => {
        const { alone } = this;
        const { deaths: before, blamed } = isOf(alone.suspect, play) ? alone.suspect : { deaths: 0 };
        const suspect = { play, deaths: before, blamed: { count: (blamed?.count ?? 0) + 1, cause } };
        blame({ ...alone, deaths: Math.max(alone.deaths, DEATHS_OF_GROUP - 1), playing: play, suspect });
      },
    };
  }

  async enter(play: GuardedPlay): Promise<Deadliness | null> {
    const { alone } = this;
    if (!this.isOneByOne) return null;
    const known = alone.givenUp?.find((other) => isSame(other, play));
    if (known) return { deaths: known.deaths ?? DEATHS_OF_PLAY, cause: known.cause ?? null };
    await this.write({ ...alone, playing: play });
    return null;
  }
}

function afterDeath({ playing, ...alone }: LoneGroup): LoneGroup {
  const deaths = alone.deaths + 1;
  if (playing === undefined) return { ...alone, deaths };
  const { suspect, givenUp = [], ...rest } = alone;
  const before = isOf(suspect, playing) ? suspect : { deaths: 0 };
  const now: Suspect = { ...before, play: playing, deaths: before.deaths + 1 };
  const found = tooDeadly(now);
  if (found === null) return { ...rest, deaths, givenUp, suspect: now };
  return { ...rest, deaths, givenUp: [...givenUp, { ...playing, ...found }] };
}

function tooDeadly({ deaths, blamed }: Suspect): Deadliness | null {
  if (blamed && blamed.count >= BLAMED_DEATHS_OF_PLAY) return { deaths: blamed.count, cause: blamed.cause };
  return deaths < DEATHS_OF_PLAY ? null : { deaths, cause: null };
}

function isOf(suspect: Suspect | undefined, play: GuardedPlay): suspect is Suspect {
  return suspect !== undefined && isSame(suspect.play, play);
}

function withoutPlay({ playing: _playing, ...alone }: LoneGroup): LoneGroup {
  return alone;
}

function isSame(one: GuardedPlay, other: GuardedPlay): boolean {
  return one.member === other.member && one.redraw === other.redraw;
}
