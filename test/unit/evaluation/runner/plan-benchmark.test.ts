import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { loadResult, loadSummary, streamTrajectories } from '../../../../src/stores/eval-store';
import { dataFolder, dependenciesOf, evaluate, numberIn, requestOf } from './evaluate-here';
import { modelThatSays } from './fake-model';

test.each([
  { count: 2001, concurrency: 16, numSamples: 1, shards: 2 },
  { count: 2001, concurrency: 512, numSamples: 1, shards: 1 },
  { count: 401, concurrency: 100, numSamples: 10, shards: 3 },
  { count: 401, concurrency: 200, numSamples: 10, shards: 2 },
])(
  'cuts $shards shards of $count examples for $concurrency in flight, $numSamples samples each',
  async ({ count, shards, ...asked }) => {
    const request = requestOf({ dataFolder: dataFolder(count), ...asked });

    const planned = await planBenchmark(dependenciesOf(modelThatSays(numberIn).completer), request);

    expect(planned.pendingShards).toHaveLength(shards);
  },
);

test('scores every example once, shard by shard, in the order of the examples', async () => {
  const { completer, asked } = modelThatSays(numberIn);
  const request = requestOf({ dataFolder: dataFolder(2001) });

  const summary = await evaluate(completer, request);

  const folder = join(request.folder, 'gsm8k');
  const plan = JSON.parse(readFileSync(join(folder, 'journal', 'plan.json'), 'utf8')) as { shards: object[] };
  const frozen = readFileSync(join(folder, 'journal', 'examples.jsonl'), 'utf8')
    .trim()
    .split('\n');
  const ids = [...streamTrajectories(folder)].map(({ example_id }) => example_id);
  expect(plan.shards).toHaveLength(2);
  expect(asked).toHaveLength(2001);
  expect(summary).toMatchObject({
    name: 'gsm8k',
    score: 1,
    numExamples: 2001,
    numErrors: 0,
    passAtK: { '1': 1 },
  });
  expect(ids).toEqual(frozen.map((line) => (JSON.parse(line) as { id: string }).id));
  expect(await loadSummary(request.folder)).toMatchObject({ gsm8k: { score: 1, num_examples: 2001 } });
  expect(JSON.parse(readFileSync(join(request.folder, 'metadata.json'), 'utf8'))).toMatchObject({
    run_id: 'eval-one',
    model_name: 'canned',
    scores: { gsm8k: 1 },
  });
});

test('returns a finished result as it is stored', async () => {
  const first = modelThatSays(numberIn);
  const request = requestOf({ dataFolder: dataFolder(10) });
  const before = await evaluate(first.completer, request);
  const second = modelThatSays(() => 'never asked');

  const after = await evaluate(second.completer, request);

  expect(after).toEqual(before);
  expect(second.asked).toEqual([]);
});

test('asks again only what failed', async () => {
  const request = requestOf({ dataFolder: dataFolder(12) });
  const flaky = modelThatSays((question) => {
    if (/Number [37]\?/.test(question)) throw new Error('connection reset');
    return numberIn(question);
  });
  const first = await evaluate(flaky.completer, request);
  const mended = modelThatSays(numberIn);

  const second = await evaluate(mended.completer, request);

  expect(first).toMatchObject({ numErrors: 2, score: 10 / 12, scoreCompleted: 1 });
  expect(mended.asked.map(numberIn).sort()).toEqual(['3', '7']);
  expect(second).toMatchObject({ numErrors: 0, score: 1 });
});

test.each([
  ['--temperature', { temperature: 0.9 }, ['0.6', '0.9']],
  ['--samples', { numSamples: 2 }, ['1', '2']],
  [
    '--model',
    { model: { type: 'endpoint', url: 'http://127.0.0.1:1/v1', api: 'chat', model: 'other' } },
    ['canned', 'other'],
  ],
  ['--system-prompt', { systemPrompt: 'Be brief.' }, ['"Be brief."']],
  ['--max-examples', { maxExamples: 3 }, ['unset', '3']],
  ['the dataset hash', { dataFolder: dataFolder(6) }, ['data.jsonl']],
] as const)('refuses a folder that was begun with another %s', async (key, changes, values) => {
  const { completer, asked } = modelThatSays(numberIn);
  const request = requestOf({ dataFolder: dataFolder(5), temperature: 0.6 });
  await evaluate(completer, request);

  const other = evaluate(completer, { ...request, ...changes });

  await expect(other).rejects.toMatchObject({ code: 'refused' });
  await expect(other).rejects.toThrow(`with ${key} `);
  for (const value of values) await expect(other).rejects.toThrow(value);
  expect(asked).toHaveLength(5);
  expect(await loadResult(request.folder, 'gsm8k')).toMatchObject({ score: 1 });
});
