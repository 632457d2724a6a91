import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { Cancellation } from '../../../../src/engines/openai/cancellation';
import { Limiter } from '../../../../src/engines/openai/limiter';
import { SharedLimit } from '../../../../src/engines/openai/shared-limit';

let folder = '';
/** Of one test: work that outlasts it must not take the next one's for its own. */
let current = { isOver: false };
const opened: SharedLimit[] = [];

beforeEach(() => {
  current = { isOver: false };
  folder = path.join(mkdtempSync(path.join(tmpdir(), 'everstep-limit-')), 'shared');
});

afterEach(async () => {
  current.isOver = true;
  await Promise.all(opened.splice(0).map((sharing) => sharing.close()));
  rmSync(path.dirname(folder), { recursive: true, force: true });
});

interface Participant {
  readonly limiter: Limiter;
  readonly sharing: SharedLimit;
  /** So many more that are in flight or wait, and do not end. */
  readonly ask: (count: number) => Promise<void>;
  /** So many at a time, each for a moment, until the test ends. */
  readonly work: (count: number) => void;
}

/** What one process has; several of them in one process see each other by their files alone. */
function participant(ceiling = 64): Participant {
  const limiter: Limiter = new Limiter(() => {
    sharing.tell();
  });
  limiter.addCeiling(ceiling);
  const sharing = new SharedLimit(folder, limiter);
  opened.push(sharing);
  return {
    limiter,
    sharing,
    async ask(count) {
      await sharing.join();
      for (let index = 0; index < count; index += 1) void limiter.acquire(new Cancellation(), false);
    },
    work(count) {
      for (let index = 0; index < count; index += 1) void workOn({ limiter, sharing });
    },
  };
}

async function workOn({ limiter, sharing }: Pick<Participant, 'limiter' | 'sharing'>): Promise<void> {
  const mine = current;
  while (!mine.isOver) {
    await sharing.join();
    await limiter.acquire(new Cancellation(), false);
    await new Promise((resolve) => setTimeout(resolve, 20));
    limiter.release();
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const limits = (all: readonly Participant[]): number[] => all.map(({ limiter }) => limiter.state.limit);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const files = (): string[] => readdirSync(folder).filter((name) => !name.startsWith('.'));

test('one alone has all of it', async () => {
  const only = participant();
  await only.ask(1);

  expect(only.limiter.state.limit).toBe(64);
});

test('those who start together have equal parts soon, and never more than all', async () => {
  const all = [participant(), participant(), participant()];
  for (const { work } of all) work(100);
  await until(() => {
    // Each may have one, so that nobody starves while parts change.
    expect(sum(all.map(({ limiter }) => limiter.state.inFlight))).toBeLessThanOrEqual(64 + 2);
    return sum(limits(all)) === 64;
  });

  expect(limits(all).sort()).toEqual([21, 21, 22]);
});

test('who joins gets his part as the other finishes what he has in flight', async () => {
  const first = participant();
  await first.ask(100);
  expect(first.limiter.state.inFlight).toBe(64);

  const second = participant();
  await second.ask(100);
  await until(() => first.limiter.state.limit === 32);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(second.limiter.state.inFlight).toBe(1);

  for (let index = 0; index < 32; index += 1) first.limiter.release();
  await until(() => second.limiter.state.inFlight === 32);
  expect(first.limiter.state.inFlight).toBe(32);
});

test('who leaves, or has nothing to do, leaves his part to the others', async () => {
  const [stays, closes, idles] = [participant(), participant(), participant()];
  // Nobody ends what is in flight here: of those who begin at once, the first one could take all of it for good.
  await stays.ask(100);
  await Promise.all([closes.ask(100), idles.ask(0)]);
  await until(() => stays.limiter.state.limit === 32);

  await closes.sharing.close();
  await until(() => stays.limiter.state.limit === 64);
  expect(files()).toHaveLength(1);
});

test('a hold of one holds the others, and ends for all', async () => {
  const all = [participant(), participant(), participant()];
  for (const { work } of all) work(4);
  await Promise.all(all.map(({ sharing }) => sharing.join()));
  const isHeld = ({ limiter }: Participant) => limiter.state.holdMs > 0;
  const held = new Set<Participant>();
  await until(() => {
    // Again, where this process stood still for longer than the hold.
    if (!all.some(isHeld)) all[0]?.limiter.refused({ ordinal: 1, at: performance.now() }, 2_500);
    for (const each of all.filter(isHeld)) held.add(each);
    return held.size === all.length;
  });

  await until(() => all.every(({ limiter }) => limiter.state.holdMs === 0));
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(all.map(({ limiter }) => limiter.state.holdMs)).toEqual([0, 0, 0]);
});

test('the file of a process that died counts for five seconds', async () => {
  const survivor = participant();
  await survivor.ask(0);
  const dead = {
    pid: 1,
    host: hostname(),
    sequence: 9,
    inFlight: 3,
    waiting: 0,
    limit: 32,
    holdMs: 0,
  };
  let lastAt = 0;
  const live = () => {
    lastAt = Date.now();
    writeFileSync(path.join(folder, 'dead.json'), JSON.stringify({ ...dead, at: lastAt }));
  };
  live();
  await survivor.ask(100);
  await until(() => {
    live();
    return survivor.limiter.state.limit === 32;
  });
  await until(() => survivor.limiter.state.limit === 64);

  expect(Date.now() - lastAt).toBeGreaterThan(4_900);
});

test('what long dead, foreign or torn files say is passed over', async () => {
  const old = participant();
  await old.ask(1);
  const file = path.join(folder, files()[0] ?? '');
  const row = JSON.parse(readFileSync(file, 'utf8')) as object;
  await old.sharing.close();
  writeFileSync(path.join(folder, 'old.json'), JSON.stringify({ ...row, at: Date.now() - 60_000 }));
  writeFileSync(path.join(folder, 'torn.json'), '{"host":"x","lim');
  writeFileSync(path.join(folder, 'foreign.json'), '[1, 2]');

  const only = participant();
  await only.ask(1);
  expect(only.limiter.state.limit).toBe(64);
});

test('a process on a host whose clock is wrong counts once its file changes', async () => {
  const only = participant();
  await only.ask(100);
  const note = { pid: 1, host: 'elsewhere', at: 5, inFlight: 0, waiting: 0, limit: 1, holdMs: 0 };
  let sequence = 0;
  const timer = setInterval(() => {
    sequence += 1;
    writeFileSync(path.join(folder, 'elsewhere.json'), JSON.stringify({ ...note, sequence }));
  }, 300);
  try {
    await until(() => only.limiter.state.limit === 32);
  } finally {
    clearInterval(timer);
  }
});

test('a folder that cannot be used says so', async () => {
  writeFileSync(folder, 'a file in its place');

  await expect(participant().sharing.join()).rejects.toMatchObject({
    code: 'bad-config',
    retryable: true,
    message: expect.stringContaining(folder) as string,
  });
});
