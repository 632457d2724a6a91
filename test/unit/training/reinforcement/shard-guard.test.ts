import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openShardGuard } from '../../../../src/training/reinforcement/shard-guard';

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
  expect(await attemptAt(1)).toBeNull();
  expect(existsSync(join(folder, 'rollouts'))).toBe(false);
});

test('a group with which one process after the other dies is found and given up, and no other', async () => {
  const deadly = 6;
  let attempt = 1;
  let journalled = 0;
  let givenUp = null;

  while (givenUp === null && attempt < 30) {
    attempt += 1;
    const guard = await attemptAt(attempt, journalled);
    for (let group = 4 + journalled; guard?.isCareful === true && group < 8; group++) {
      const deaths = await guard.deathsOf(group);
      if (deaths > 0) givenUp = { group, deaths };
      if (group === deadly) break;
      journalled += 1;
    }
  }

  expect(givenUp).toEqual({ group: deadly, deaths: 5 });
});

test('deaths between which the sampling got on are nobody’s fault', async () => {
  for (let attempt = 2; attempt < 20; attempt++) {
    const guard = await attemptAt(attempt, attempt);
    expect(guard?.isCareful).toBe(false);
  }
});

test('a shard that is begun anew knows nothing of deaths before', async () => {
  for (let attempt = 2; attempt < 6; attempt++) await attemptAt(attempt);
  await attemptAt(1);

  expect((await attemptAt(2))?.isCareful).toBe(false);
});

test('an attempt that ended with a word is no death', async () => {
  for (let attempt = 2; attempt < 20; attempt++) {
    const guard = await attemptAt(attempt);
    expect(guard?.isCareful).toBe(false);
    await guard?.close();
  }
});
