import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GroupGuard } from '../../../../src/training/reinforcement/shard-guard';
import { openShardGuard } from '../../../../src/training/reinforcement/shard-guard';
import type { GuardedPlay } from '../../../../src/training/rollouts/deadly-plays';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-shard-guard-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** An attempt at a shard of four groups, of which some are journalled. Its process dies unless it closes the guard. */
function attemptAt(attempt: number, journalledCount = 0) {
  return openShardGuard({ folder, step: 3, firstGroup: 4, attempt, journalledCount });
}

test('a shard that is sampled at the first attempt leaves no mark', async () => {
  const guard = await attemptAt(1);
  await guard.enter(4);
  await guard.close();

  expect(existsSync(join(folder, 'rollouts'))).toBe(false);
});

/** Plays groups of two rollouts and their rewards until the process dies, or all are done. */
class Worker {
  private attempt = 1;
  deathCount = 0;
  readonly givenUp = new Set<string>();
  private journalled = 0;

  constructor(private readonly kills: (group: number, play: GuardedPlay) => boolean) {}

  async work(): Promise<void> {
    while (this.journalled < 4 && this.attempt < 100) {
      this.attempt += 1;
      if (!(await this.isDone())) this.deathCount += 1;
    }
  }

  private async isDone(): Promise<boolean> {
    const guard = await attemptAt(this.attempt, this.journalled);
    const groups = [4, 5, 6, 7].slice(this.journalled);
    if (!guard.isCareful) {
      if (groups.some((group) => PLAYS.some((play) => this.kills(group, play)))) return false;
      this.journalled = 4;
    } else {
      for (const group of groups) {
        if (!(await this.isPlayed(group, await guard.enter(group)))) return false;
        this.journalled += 1;
      }
    }
    await guard.close();
    return true;
  }

  private async isPlayed(group: number, guard: GroupGuard): Promise<boolean> {
    if (guard.deaths > 0) {
      this.givenUp.add(`${group} after ${guard.deaths}`);
      return true;
    }
    for (const play of PLAYS) {
      const deadliness = await guard.enter(play);
      if (deadliness) this.givenUp.add(`${group}/${String(play.member)} after ${deadliness.deaths}`);
      else if (this.kills(group, play)) return false;
    }
    return true;
  }
}

const PLAYS: readonly GuardedPlay[] = [0, 1, null].map((member) => ({ member, redraw: 0 }));

test.each([0, 1, null])(
  'a rollout with which one process after the other dies is found and given up, and no other (%s)',
  async (deadly) => {
    const worker = new Worker((group, { member }) => group === 6 && member === deadly);

    await worker.work();

    expect([...worker.givenUp]).toEqual([`6/${String(deadly)} after 3`]);
    // All groups together, the group as a whole, the rollout by itself.
    expect(worker.deathCount).toBe(2 + 2 + 3);
  },
);

test('a group is given up with which processes die on and on', async () => {
  const worker = new Worker((group) => group === 5);

  await worker.work();

  expect([...worker.givenUp]).toEqual(['5/0 after 3', '5/1 after 3', '5 after 10']);
  expect(worker.deathCount).toBe(2 + 10);
});

test('a mark that an earlier version left is understood', async () => {
  const mark = { deaths: 4, journalledCount: 0, isCareful: true, alone: { group: 4, deaths: 2 } };
  mkdirSync(join(folder, 'rollouts', '3'), { recursive: true });
  writeFileSync(join(folder, 'rollouts', '3', '.shard-4.json'), JSON.stringify(mark));

  const guard = await (await attemptAt(7)).enter(4);

  expect(guard).toMatchObject({ deaths: 0, isOneByOne: true });
  expect(await guard.enter({ member: 0, redraw: 0 })).toBeNull();
});

test('deaths between which the sampling got on are nobody’s fault', async () => {
  for (let attempt = 2; attempt < 20; attempt++) {
    const guard = await attemptAt(attempt, attempt);
    expect(guard.isCareful).toBe(false);
  }
});

test('a shard that is begun anew knows nothing of deaths before', async () => {
  for (let attempt = 2; attempt < 6; attempt++) await attemptAt(attempt);
  await attemptAt(1);

  expect((await attemptAt(2)).isCareful).toBe(false);
});

test('an attempt that ended with a word is no death', async () => {
  for (let attempt = 2; attempt < 20; attempt++) {
    const guard = await attemptAt(attempt);
    expect(guard.isCareful).toBe(false);
    await guard.close();
  }
});

test.each([0, null])(
  'a play that is known to have ended two processes is given up, and no other (%s)',
  async (member) => {
    const play = { member, redraw: 0 };
    const first = await (await attemptAt(1)).enter(6);
    first.countsOf(play).blame('a loop');
    const second = await attemptAt(2);
    expect(second.isCareful).toBe(true);
    const again = await second.enter(6);
    expect(await again.enter(play)).toBeNull();
    again.countsOf(play).blame('another loop');

    const third = await (await attemptAt(3)).enter(6);

    expect(third.deaths).toBe(0);
    expect(await third.enter(play)).toEqual({ deaths: 2, cause: 'another loop' });
    expect(await third.enter({ member: 1, redraw: 0 })).toBeNull();
  },
);

test('what ends by another’s doing is not counted', async () => {
  for (let attempt = 2; attempt < 20; attempt++) {
    const guard = await attemptAt(attempt);
    expect(guard.isCareful).toBe(false);
    (await guard.enter(5)).countsOf({ member: 0, redraw: 0 }).note.excuse();
  }
});
