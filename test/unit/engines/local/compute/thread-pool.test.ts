import { SharedHeap } from '../../../../../src/engines/local/compute/shared-heap';
import { ThreadPool } from '../../../../../src/engines/local/compute/thread-pool';
import type {
  BackgroundWork,
  Demand,
  JobRequest,
} from '../../../../../src/engines/local/compute/thread-pool';

const FLOATS = 1 << 16;
const NO_DEMAND: Demand = { waitingJobs: 0, idleThreads: 0 };

interface Fixture {
  readonly heap: SharedHeap;
  readonly pool: ThreadPool;
  readonly job: JobRequest<'addRange'>;
  readonly order: string[];
  /** What the background work was told last. */
  demand: Demand;
  quantaLeft: number;
}

function openPool(threads: number): Fixture {
  const heap = new SharedHeap(8);
  const source = heap.allocate(FLOATS, 'a test');
  const target = heap.allocate(FLOATS, 'a test');
  const job: JobRequest<'addRange'> = {
    kind: 'addRange',
    input: { target, sources: [source], count: FLOATS },
    arenaFloats: 0,
  };
  const order: string[] = [];
  const background: BackgroundWork = {
    next: () => {
      if (fixture.quantaLeft === 0) return null;
      fixture.quantaLeft -= 1;
      order.push('quantum');
      return { request: job, settle: () => undefined };
    },
    hurry: (demand) => {
      fixture.demand = demand;
    },
  };
  const fixture: Fixture = {
    heap,
    pool: new ThreadPool(heap, background, { threads, kernels: 'auto' }),
    job,
    order,
    demand: NO_DEMAND,
    quantaLeft: 0,
  };
  return fixture;
}

test('training goes before background work, which gets what is left', async () => {
  const fixture = openPool(1);
  const { pool, job, order } = fixture;
  await pool.run(job);
  fixture.quantaLeft = 1000;
  pool.kick();
  while (order.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  const quantaBefore = order.length;

  await Promise.all(['a', 'b', 'c', 'd'].map((name) => pool.run(job).then(() => order.push(name))));
  const quantaMeanwhile = order.filter((name) => name === 'quantum').length - quantaBefore;
  await pool.close();

  expect(quantaBefore).toBeGreaterThan(1);
  expect(order.filter((name) => name !== 'quantum')).toEqual(['a', 'b', 'c', 'd']);
  // One may start when the last job's answer arrives, before its promise is seen to be settled.
  expect(quantaMeanwhile).toBeLessThanOrEqual(1);
});

test('background work is told how many jobs wait for a thread, and how many threads are idle', async () => {
  const fixture = openPool(2);
  const { pool, job } = fixture;

  const demands: Demand[] = [];
  const runs = Array.from({ length: 3 }, async () => {
    const run = pool.run(job);
    demands.push(fixture.demand);
    return run;
  });
  await Promise.all(runs);
  demands.push(fixture.demand);
  await pool.close();

  expect(demands).toEqual([
    { waitingJobs: 0, idleThreads: 1 },
    { waitingJobs: 0, idleThreads: 0 },
    { waitingJobs: 1, idleThreads: 0 },
    { waitingJobs: 0, idleThreads: 2 },
  ]);
});

test('a job that does not fit is refused, and the thread goes on', async () => {
  const { pool, job } = openPool(1);
  const before = pool.run(job);
  const tooLarge = pool.run({ ...job, arenaFloats: 2 ** 26 });
  const after = pool.run(job);

  await expect(tooLarge).rejects.toMatchObject({ code: 'request-failed', category: 'server' });
  await expect(Promise.all([before, after])).resolves.toEqual([null, null]);
  await pool.close();
});

test('working memory that idle threads keep is had by whoever needs it', async () => {
  const { heap, pool, job } = openPool(2);
  const large = { ...job, arenaFloats: 2 ** 19 };
  await Promise.all([pool.run(large), pool.run(large)]);
  const kept = heap.bytesInUse;

  const block = heap.allocate(2 ** 20, 'a model');
  heap.free(block);
  await Promise.all([pool.run(large), pool.run(large)]);
  await pool.close();

  expect(kept).toBeGreaterThanOrEqual(2 * 4 * 2 ** 19);
});

test('after closing, waiting jobs and new ones are refused', async () => {
  const { pool, job } = openPool(2);
  const waiting = [1, 2, 3, 4, 5, 6].map(() => pool.run(job));
  const settled = Promise.allSettled(waiting);
  await pool.close();

  expect((await settled).at(-1)?.status).toBe('rejected');
  await expect(pool.run(job)).rejects.toThrow('The local engine was closed.');
});
