import type { WorkerDependencies } from '../../../src/workers/dependencies';
import { queuesOf } from '../../../src/workers/roles';

/** What activities need is looked at when they are called. */
const NOTHING = {
  description: { everstepVersion: 'test', node: 'test' },
  training: {},
  runs: {},
} as unknown as WorkerDependencies;

test('steps and sessions take no place of each other, however few there are', () => {
  const [steps, sessions, ...more] = queuesOf('training', NOTHING, 1);

  expect(more).toEqual([]);
  expect(steps).toMatchObject({ taskQueue: 'everstep-training', places: 1 });
  expect(sessions?.taskQueue).toBe('everstep-sessions');
  expect(sessions?.places).toBeGreaterThan(1000);
  expect(Object.keys(sessions?.activities ?? {})).toEqual(['keepSession']);
});

test('runs that are made ready keep no bookkeeping waiting, and are few at a time', () => {
  const [bookkeeping, preparation, ...more] = queuesOf('workflows', NOTHING);

  expect(more).toEqual([]);
  expect(bookkeeping).toMatchObject({ taskQueue: 'everstep', places: 100 });
  expect(preparation).toMatchObject({ taskQueue: 'everstep-preparation', places: 8 });
  expect(Object.keys(preparation?.activities ?? {})).toEqual(['prepareRun', 'continueRun']);
});

test('a worker trains hundreds of runs at once unless told', () => {
  expect(queuesOf('training', NOTHING)[0]?.places).toBe(500);
});
