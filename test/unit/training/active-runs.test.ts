import { NO_PLUGINS } from '../../../src/evaluation/plugins';
import type { RunStore } from '../../../src/stores/run-store';
import type { ActiveRun } from '../../../src/training/active-runs';
import { createActiveRuns, loadActiveRun } from '../../../src/training/active-runs';
import type { EngineAccess } from '../../../src/training/engine-access';

const MINUTE = 60_000;

/** Runs that are loaded from nowhere, and note that they were. */
class Loading {
  readonly loaded: string[] = [];
  readonly closed: string[] = [];
  time = 0;

  readonly runs = createActiveRuns(
    async (run) => {
      this.loaded.push(run);
      const close = async () => {
        this.closed.push(run);
      };
      return {
        engine: { client: { close } },
        journals: { close: async () => undefined },
      } as unknown as ActiveRun;
    },
    () => this.time,
  );

  async useAll(names: readonly string[]): Promise<void> {
    for (const name of names) await this.runs.use(name, async () => undefined);
  }
}

const HUNDRED = Array.from({ length: 100 }, (_, index) => `run-${index}`);

test('keeps every run that is trained, however many they are', async () => {
  const loading = new Loading();

  for (let round = 0; round < 3; round++) {
    await loading.useAll(HUNDRED);
    loading.time += 5000;
  }

  expect(loading.loaded).toEqual(HUNDRED);
  expect(loading.closed).toEqual([]);
});

test('lets go of runs that nobody has used for a minute, when another one comes', async () => {
  const loading = new Loading();
  await loading.useAll(HUNDRED);
  loading.time += MINUTE;

  await loading.useAll(['new']);

  expect(loading.closed).toEqual(HUNDRED.slice(0, 85));
});

test('keeps a run that somebody works with', async () => {
  const loading = new Loading();
  let finish: () => void = () => undefined;
  const working = loading.runs.use('run-0', () => new Promise<void>((resolve) => (finish = resolve)));
  await loading.useAll(HUNDRED.slice(1));
  loading.time += MINUTE;

  await loading.useAll(['new']);
  finish();
  await working;

  expect(loading.closed).toEqual(HUNDRED.slice(1, 86));
});

test('loads a run anew that could not be loaded', async () => {
  let attempts = 0;
  const runs = createActiveRuns(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('the store is away');
    return {} as ActiveRun;
  });

  await expect(runs.use('run', async () => 'done')).rejects.toThrow('the store is away');

  expect(await runs.use('run', async () => 'done')).toBe('done');
});

test('code of a plug-in is loaded when a step is trained, once, and again where that failed', async () => {
  const config = { kind: 'rl', plugins: '/mine.ts', engine: {}, model: 'tiny', lossFunction: 'ppo' };
  const store = {
    ...{ root: '/nowhere', exists: async () => true, runFolder: () => '/nowhere/run' },
    readConfig: async () => ({ run: 'run', config, data: { trainCount: 1 } }),
  } as unknown as RunStore;
  const engines = { connect: async () => ({}) } as unknown as EngineAccess;
  const loadPlugins = jest.fn(async () => NO_PLUGINS);
  loadPlugins.mockRejectedValueOnce(new Error('it is being written'));

  const { material } = await loadActiveRun({ store, engines, loadPlugins }, 'run');

  expect(loadPlugins).not.toHaveBeenCalled();
  await expect(material()).rejects.toThrow('it is being written');
  const [first, second] = await Promise.all([material(), material()]);
  expect(second).toBe(first);
  expect(loadPlugins.mock.calls).toEqual([['/mine.ts'], ['/mine.ts']]);
});
