import { parseBenchmarkConfig } from '../../../src/config/benchmark-config';
import type { ModelSource } from '../../../src/core/benchmark-run';
import { DomainError } from '../../../src/core/errors';
import { differencesOf, requestsFor } from '../../../src/client/eval-requests';
import { findSource } from '../../../src/client/eval-source';
import type { RunRecords } from '../../../src/client/run-records';

const ENDPOINT: ModelSource = {
  type: 'endpoint',
  url: 'http://127.0.0.1:8000/v1',
  api: 'chat',
  model: 'owner/Model 7B',
};

function requests(options: object = {}, places: object = {}) {
  const config = parseBenchmarkConfig({
    endpoint: 'http://127.0.0.1:8000/v1',
    model: 'owner/Model 7B',
    ...options,
  });
  return requestsFor(
    ['gsm8k', 'mmlu-pro', 'gsm8k'],
    { config, source: ENDPOINT },
    { store: '/store', ...places },
  );
}

const row = (step: number, sampler_path: string | null, lineage = 0) => ({ step, sampler_path, lineage });
const state = (step: number, state_path: string) => ({ ...row(step, null), state_path });

function recordsOf(changes: { url?: string; initialPath?: string } = {}): RunRecords {
  const { url = 'http://127.0.0.1:9/', initialPath = null } = changes;
  const known = {
    readConfig: async (run: string) => {
      if (run !== 'mine') throw new DomainError('unknown-run', `Unknown run "${run}".`);
      return {
        config: { model: 'everstep/tiny', loraRank: 8, engine: { url, tags: [] } },
        renderer: 'everstep',
        engineUrl: url,
        initialPath,
      };
    },
    exists: async (run: string) => run === 'mine',
    findUnreadable: async () => null,
    listRuns: async () => [{ run: 'mine' }],
    readCheckpoints: async () => [
      state(0, 'tinker://a/weights/0'),
      row(50, 'tinker://a/50'),
      row(100, 'tinker://a/100'),
      row(100, 'tinker://b/100', 1),
      row(120, null),
    ],
  };
  return known as unknown as RunRecords;
}

const sourceOf = (asked: object, changes = {}) => findSource(parseBenchmarkConfig(asked), recordsOf(changes));

test('asks each benchmark once, by its name with underscores', () => {
  expect(requests().map(({ benchmark }) => benchmark)).toEqual(['gsm8k', 'mmlu_pro']);
});

test('finds the same folder for the same questions, however fast they are asked', () => {
  const [first] = requests();
  const [faster] = requests({ concurrency: 512, timeoutSeconds: 5 });
  const [hotter] = requests({ temperature: 1 });

  expect(first?.run).toMatch(/^owner-Model-7B-[0-9a-f]{8}$/);
  expect(first?.folder).toBe(`/store/evals/${first?.run ?? ''}`);
  expect(faster?.run).toBe(first?.run);
  expect(hotter?.run).not.toBe(first?.run);
});

test('takes a name and a folder as they are given', () => {
  const [request] = requests({}, { run: 'nightly', output: '/results', dataFolder: '/data' });

  expect(request).toMatchObject({ run: 'nightly', folder: '/results', dataFolder: '/data' });
  expect(() => requests({}, { run: '../up' })).toThrow('not a valid name');
});

test('tells the option in which two requests differ', () => {
  const [first] = requests();
  const [cooler] = requests({ temperature: 0 }, { run: first?.run });
  const [faster] = requests({ concurrency: 9 });
  if (!first || !cooler || !faster) throw new Error('no requests');

  expect(differencesOf(first, cooler)).toEqual([{ what: '--temperature', before: 'unset', now: '0' }]);
  expect(differencesOf(first, faster)).toEqual([]);
});

test('finds the newest checkpoint that can be sampled from, and the newest life of a step', async () => {
  const newest = { path: 'tinker://b/100', label: 'mine@100', identity: 'mine/100/1' };

  expect(await sourceOf({ checkpoint: 'mine' })).toMatchObject({
    ...newest,
    model: 'everstep/tiny',
    renderer: 'everstep',
  });
  expect(await sourceOf({ checkpoint: 'mine@100' })).toMatchObject(newest);
  expect(await sourceOf({ checkpoint: 'mine@50', renderer: 'role_colon' })).toMatchObject({
    path: 'tinker://a/50',
    renderer: 'role_colon',
  });
});

test('samples step 0 from its training state', async () => {
  expect(await sourceOf({ checkpoint: 'mine@0' })).toMatchObject({
    ...{ path: 'tinker://a/weights/0', label: 'mine@0', identity: 'mine/0/0' },
  });
});

test('asks the base model for step 0 of an adapter at the official service, which samples from no state', async () => {
  const url = 'https://tinker.thinkingmachines.dev/services/tinker-prod';

  expect(await sourceOf({ checkpoint: 'mine@0' }, { url })).toMatchObject({ path: null, label: 'mine@0' });
  await expect(
    sourceOf({ checkpoint: 'mine@0' }, { url, initialPath: 'tinker://x/weights/1' }),
  ).rejects.toThrow('no weights of step 0 that can be sampled. Steps with some: 50, 100.');
});

test('finds the same folder for weights of a run wherever they are served', () => {
  const weights = {
    type: 'engine',
    model: 'm',
    path: 'tinker://a/1',
    label: 'r@1',
    identity: 'r/1/0',
  } as const;
  const config = parseBenchmarkConfig({ checkpoint: 'r@1' });
  const runOf = (url: string) =>
    requestsFor(['gsm8k'], { config, source: { ...weights, url } }, { store: '/store' })[0]?.run;

  expect(runOf('http://127.0.0.1:1')).toBe(runOf('http://127.0.0.1:2'));
});

test.each([
  [{ checkpoint: 'mine@120' }, 'no weights of step 120 that can be sampled. Steps with some: 0, 50, 100.'],
  [{ checkpoint: 'mine@last' }, 'write RUN, RUN@STEP or RUN@best'],
  [{ checkpoint: 'other' }, '--checkpoint other: Unknown run "other". Known: mine.'],
  [{ checkpoint: 'mien@50' }, '--checkpoint mien@50: Unknown run "mien". Did you mean "mine"? Known: mine.'],
  [{ checkpoint: 'mine', model: 'another/model' }, 'run "mine" trained everstep/tiny'],
  [{ checkpoint: 'tinker://a/1' }, '--model is missing'],
  [{ endpoint: 'http://127.0.0.1:1/v1' }, '--model is missing'],
  [{ endpoint: 'http://me:secret@127.0.0.1:1/v1', model: 'm' }, 'OPENAI_API_KEY'],
  [{ endpoint: 'http://127.0.0.1:1/v1', model: 'm', checkpoint: 'mine' }, 'Give one model'],
  [{ model: 'm' }, 'Give one model'],
  [{ engine: 'http://127.0.0.1:1' }, '--model is missing'],
])('refuses %j', async (asked, message) => {
  await expect(sourceOf(asked)).rejects.toThrow(message);
});

test('names the option nearest to one that is unknown', () => {
  expect(() => parseBenchmarkConfig({ maxTokns: 3 })).toThrow('Did you mean "maxTokens"?');
  expect(() => parseBenchmarkConfig({ num_samples: 3 })).toThrow('write "numSamples"');
  expect(() => parseBenchmarkConfig({ concurrency: 0 })).toThrow('concurrency is 0');
});
