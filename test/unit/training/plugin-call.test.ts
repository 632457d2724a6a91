import { DomainError } from '../../../src/core/errors';
import type { PythonLink } from '../../../src/evaluation/python/python-link';
import { createDatasetReader } from '../../../src/training/dataset-source';
import { awaitPlugin, callPlugin } from '../../../src/training/plugin-call';
import { pluginLossOf } from '../../../src/training/reinforcement/derived-loss';

const part = { subject: 'loss "mine"', file: '/a/everstep.config.ts' };
const inputs = {
  logprobs: new Float32Array(1),
  sampledLogprobs: new Float32Array(1),
  advantages: new Float32Array(1),
  mask: new Float32Array(1),
};

function failure(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

function lossOf(loss: unknown) {
  const losses = new Map([['mine', loss]]);
  return pluginLossOf({ lossFunction: { plugin: 'mine' } }, { file: part.file, losses });
}

test('what a loss throws ends the run, and names the loss, its file and the line of code', () => {
  const loss = lossOf(() => {
    throw new Error('my loss is broken');
  });

  expect(failure(() => loss?.(inputs, {}))).toMatchObject({
    code: 'bad-plugin',
    retryable: false,
    message: expect.stringMatching(
      /^plug-in loss "mine" of \/a\/everstep\.config\.ts failed: my loss is broken \(thrown at .*plugin-call\.test\.ts:\d+:\d+\)\. Repair it there\.$/,
    ) as unknown,
  });
});

test.each([
  ['nothing', () => undefined],
  ['a promise', () => Promise.resolve({ loss: 0, slopes: [0] })],
  ['no slopes', () => ({ loss: 0 })],
])('a loss that returns %s is refused', (_, loss) => {
  expect(failure(() => lossOf(loss)?.(inputs, {}))).toMatchObject({
    code: 'bad-plugin',
    message: expect.stringContaining('{ loss, slopes }') as unknown,
  });
});

test.each([
  ['a loss that is no number', { loss: NaN, slopes: [0] }],
  ['an infinite slope', { loss: 0, slopes: [Infinity] }],
  ['too many slopes', { loss: 0, slopes: [0, 0] }],
])('a loss that returns %s is named with its file', (_, answer) => {
  expect(failure(() => lossOf(() => answer)?.(inputs, {}))).toMatchObject({
    code: 'bad-plugin',
    message: expect.stringMatching(
      /^plug-in loss "mine" of \/a\/everstep\.config\.ts failed: it gave \d slopes for 1 tokens/,
    ) as unknown,
  });
});

test('a loss that answers is used as it is', () => {
  expect(lossOf(() => ({ loss: 2, slopes: new Float32Array([3]) }))?.(inputs, {})).toEqual({
    loss: 2,
    slopes: new Float32Array([3]),
  });
});

test('what a plug-in could not reach is tried again', async () => {
  const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const fetched = new TypeError('fetch failed', { cause: away });
  for (const error of [away, fetched]) {
    await expect(awaitPlugin(part, () => Promise.reject(error))).rejects.toMatchObject({ retryable: true });
  }
});

test('a failure that the domain can name passes through', () => {
  const known = new DomainError('bad-dataset', 'no rows');
  expect(
    failure(() =>
      callPlugin(part, () => {
        throw known;
      }),
    ),
  ).toBe(known);
});

test.each([
  ['what it threw', new Error('no rows today'), { code: 'bad-plugin', retryable: false }],
  [
    'the way to it',
    new DomainError('unreachable', 'no Python worker', { retryable: true }),
    { code: 'unreachable' },
  ],
])('a dataset of a reader in Python fails as %s says', async (_, error, expected) => {
  const link = { ask: () => Promise.reject(error) };
  const read = createDatasetReader({ cacheFolder: '/none', python: { link, folder: '/none' } });
  const dataset = { python: 'mine', split: 'train', testSize: 0, onBadRow: 'error' as const };
  await expect(read(dataset)).rejects.toMatchObject(expected);
});

test('a Python worker that a dataset waits for is told of while it is waited for', async () => {
  const told: (string | null)[] = [];
  const link: PythonLink = {
    ask: (_work, { onWaiting }) => {
      onWaiting?.('No Python worker polls everstep-python');
      return Promise.reject(new DomainError('unreachable', 'nobody came', { retryable: true }));
    },
  };
  const read = createDatasetReader({ cacheFolder: '/none', python: { link, folder: '/none' } });
  const dataset = { python: 'mine', split: 'train', testSize: 0, onBadRow: 'error' as const };

  await expect(read(dataset, (reason) => told.push(reason))).rejects.toThrow('nobody came');

  expect(told).toEqual(['No Python worker polls everstep-python']);
});
