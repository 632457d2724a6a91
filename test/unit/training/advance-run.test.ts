import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SegmentInput } from '../../../src/core/training-plan';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';
import type { ActiveRun } from '../../../src/training/active-runs';
import { createActiveRuns } from '../../../src/training/active-runs';
import { advanceRun } from '../../../src/training/advance-run';
import { StoreNews } from '../../../src/training/store-news';

const STOPPED = 'this test goes no further';
const PLUGINS = '/a/"b".ts';

let folder: string;
let store: RunStore;
let mark: string;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-advance-'));
  store = createRunStore(folder);
  await store.claim('first', { workflowId: 'train/first', firstRunId: 'first' });
  mark = path.join(store.runFolder('first'), '.opening-training.json');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** One try of a segment, which ends where its first batch is asked for. Says whether a mark was there then, and when the code was loaded. */
class Try {
  isNotedAtLoading: boolean | null = null;
  isNotedAtTraining: boolean | null = null;

  async run(attempt: number, config: object, more: Partial<SegmentInput> = {}): Promise<void> {
    const active = {
      record: { run: 'first', config: { plugins: PLUGINS, lossFunction: 'ppo', ...config } },
      material: () => {
        this.isNotedAtLoading = existsSync(mark);
        return Promise.resolve({ batches: {}, codeRemark: null });
      },
      patience: { watch: () => ({ stop: () => undefined }) },
      journals: {
        lend: () => {
          this.isNotedAtTraining = existsSync(mark);
          return Promise.reject(new Error(STOPPED));
        },
      },
      engine: {},
    } as unknown as ActiveRun;
    const runs = createActiveRuns(() => Promise.resolve(active));
    const input = {
      ...{ plan: { run: 'first' }, position: { collectedThrough: -1 }, model: { deduplicates: true } },
      ...more,
    } as unknown as SegmentInput;
    const { signal } = new AbortController();
    const options = { attempt, epoch: attempt, signal, onProgress: () => undefined };
    await advanceRun({ runs, store, news: new StoreNews() }, input, options);
  }
}

const OWN_LOSS = { lossFunction: { plugin: 'own' } };

test.each([
  ['a first try', 1, { kind: 'rl', ...OWN_LOSS }, {}, [false, false]],
  ['another try', 2, { kind: 'rl' }, {}, [true, false]],
  ['another try with a loss of its own', 2, { kind: 'rl', ...OWN_LOSS }, {}, [true, true]],
  ['a segment that is repeated', 1, { kind: 'rl' }, { isRepeat: true }, [true, false]],
  ['a run that trains with no code', 2, { kind: 'sft' }, {}, [false, false]],
])('%s is noted while code of a plug-in may be at work', async (_, attempt, config, more, noted) => {
  const tried = new Try();

  await expect(tried.run(attempt, config, more)).rejects.toThrow(STOPPED);

  expect([tried.isNotedAtLoading, tried.isNotedAtTraining]).toEqual(noted);
  expect(existsSync(mark)).toBe(false);
});

test('code that kept two workers from everything else is not loaded again, and the run ends by it', async () => {
  const cause = `it kept the worker from everything else for 45 s at ${PLUGINS}:3`;
  writeFileSync(mark, JSON.stringify({ deaths: 0, deathsAlone: 0, bytes: 0, blamed: { count: 2, cause } }));
  const tried = new Try();

  await expect(tried.run(4, { kind: 'rl' })).rejects.toMatchObject({
    code: 'bad-plugin',
    message: `The worker's process was ended because of the code of ${JSON.stringify(PLUGINS)}, again and again: ${cause}.`,
  });
  expect(tried.isNotedAtLoading).toBeNull();
});
