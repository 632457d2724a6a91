import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BenchmarkRequest } from '../../../../src/core/benchmark-run';
import { runBenchmarkShard } from '../../../../src/evaluation/runner/benchmark-shard';
import { explainDamage } from '../../../../src/evaluation/runner/explain-damage';
import { streamTrajectories } from '../../../../src/stores/eval-store';
import { dataFolder, dependenciesOf, evaluate, numberIn, requestOf } from './evaluate-here';
import { modelThatSays } from './fake-model';

const COUNT = 12;

/** An evaluation of twelve questions, and its folder. */
async function finished(changes: Partial<BenchmarkRequest> = {}) {
  const request = requestOf({ dataFolder: dataFolder(COUNT), ...changes });
  await evaluate(modelThatSays(numberIn).completer, request);
  const folder = join(request.folder, 'gsm8k');
  const inside = (...names: string[]) => join(folder, 'journal', ...names);
  return { request, folder, inside };
}

function runShard(request: BenchmarkRequest) {
  const dependencies = dependenciesOf(modelThatSays(numberIn).completer);
  return runBenchmarkShard(
    dependencies,
    { run: request.run, folder: request.folder, benchmark: 'gsm8k', shard: 0 },
    { epoch: 5_000_000, signal: new AbortController().signal, onProgress: () => undefined },
  );
}

test.each([
  [
    'cut off',
    (path: string) => {
      truncateSync(path, Math.floor(readFileSync(path).length / 2));
    },
  ],
  [
    'overwritten',
    (path: string) => {
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"message', 'X'));
    },
  ],
  [
    'gone',
    (path: string) => {
      rmSync(path);
    },
  ],
])(
  'completions that are %s beside their judgements are asked for again, and no others',
  async (_, damage) => {
    const { request, folder, inside } = await finished();
    const samples = inside('shard-0', 'samples.jsonl');
    rmSync(inside('shard-0', '.samples.jsonl.generation-1000'), { force: true });
    damage(samples);
    const intact = readFileSync(samples, { encoding: 'utf8', flag: 'a+' })
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}') && line.includes('"message"'));
    rmSync(join(folder, 'result.json'));
    const again = modelThatSays(numberIn);

    const summary = await evaluate(again.completer, request);

    expect(again.asked).toHaveLength(COUNT - intact.length);
    expect(summary).toMatchObject({ score: 1, numExamples: COUNT, numErrors: 0 });
    for (const { turns } of streamTrajectories(folder)) expect(turns.length).toBeGreaterThan(1);
  },
);

test('a journal that is gone is taken from its copy beside it, and nothing is asked for', async () => {
  const { request, folder, inside } = await finished();
  rmSync(inside('shard-0', 'samples.jsonl'));
  rmSync(inside('shard-0', 'grades.jsonl'));
  rmSync(join(folder, 'result.json'));
  const again = modelThatSays(numberIn);

  await expect(evaluate(again.completer, request)).resolves.toMatchObject({ score: 1, numErrors: 0 });

  expect(again.asked).toEqual([]);
});

test('judgements that are gone are made again from the completions', async () => {
  const { request, folder, inside } = await finished();
  writeFileSync(inside('shard-0', 'grades.jsonl'), '');
  rmSync(inside('shard-0', '.grades.jsonl.generation-1000'), { force: true });
  rmSync(join(folder, 'result.json'));
  const again = modelThatSays(numberIn);

  await expect(evaluate(again.completer, request)).resolves.toMatchObject({ score: 1, numErrors: 0 });

  expect(again.asked).toEqual([]);
});

test('examples that were edited are refused by their hash, at the shard and at the next start', async () => {
  const { request, folder, inside } = await finished();
  const examples = inside('examples.jsonl');
  writeFileSync(examples, readFileSync(examples, 'utf8').replace('Number 1', 'Number 7'));
  rmSync(join(folder, 'result.json'));

  const shard = runShard(request);
  await expect(shard).rejects.toMatchObject({ code: 'store-conflict', retryable: false });
  await expect(shard).rejects.toThrow(`${examples} is not what was planned`);
  await expect(evaluate(modelThatSays(numberIn).completer, request)).rejects.toThrow(
    `${examples} is not what was planned: its hash is another`,
  );
});

test('examples that are gone are written anew', async () => {
  const { request, folder, inside } = await finished();
  const before = readFileSync(inside('examples.jsonl'));
  rmSync(inside('examples.jsonl'));
  rmSync(join(folder, 'result.json'));
  const again = modelThatSays(numberIn);

  await expect(runShard(request)).rejects.toThrow(/examples\.jsonl is gone/);
  await expect(evaluate(again.completer, request)).resolves.toMatchObject({ score: 1 });

  expect(readFileSync(inside('examples.jsonl'))).toEqual(before);
  expect(again.asked).toEqual([]);
});

test.each(['gone', 'damaged'])('a plan that is %s is made again, and nothing is asked twice', async (how) => {
  const { request, folder, inside } = await finished();
  if (how === 'gone') rmSync(inside('plan.json'));
  else truncateSync(inside('plan.json'), 100);
  rmSync(join(folder, 'result.json'));
  const again = modelThatSays(numberIn);

  const shard = runShard(request);
  await expect(shard).rejects.toMatchObject({ code: 'store-conflict', retryable: false });
  await expect(shard).rejects.toThrow(/plan\.json is gone or damaged.*same command again/);
  await expect(evaluate(again.completer, request)).resolves.toMatchObject({ score: 1, numErrors: 0 });

  expect(again.asked).toEqual([]);
});

test('a result without its plan is known by its identity', async () => {
  const { request, inside } = await finished();
  rmSync(inside('plan.json'));
  const { completer, asked } = modelThatSays(numberIn);

  await expect(evaluate(completer, { ...request, temperature: 0.3 })).rejects.toMatchObject({
    code: 'refused',
  });
  await expect(evaluate(completer, request)).resolves.toMatchObject({ score: 1 });

  expect(asked).toEqual([]);
});

test.each([
  ['journal', 'plan.json'],
  ['journal', 'examples.jsonl'],
  ['journal', 'shard-0', 'samples.jsonl'],
  ['journal', 'shard-0', 'progress.json'],
])('a directory in the place of %s is named, and nothing waits for it', async (...names) => {
  const { request, folder } = await finished();
  const path = join(folder, ...names);
  rmSync(join(folder, 'result.json'));
  rmSync(path);
  mkdirSync(join(path, 'something'), { recursive: true });

  const error = await evaluate(modelThatSays(numberIn).completer, request).catch((thrown: unknown) =>
    explainDamage({ ...request, benchmark: 'gsm8k' }, thrown),
  );

  expect(error).toMatchObject({ code: 'store-conflict', retryable: false });
  expect(String(error)).toContain(`${path} is a directory where a file belongs. Move it away`);
});

test.each([[[]], [['gsm8k']]])(
  'a file in the place of the folder of results is named, below it %j, and nothing waits for it',
  async (names) => {
    const request = requestOf({ dataFolder: dataFolder(COUNT) });
    const path = join(request.folder, ...names);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'mine\n');

    const error = await evaluate(modelThatSays(numberIn).completer, request).catch((thrown: unknown) =>
      explainDamage({ ...request, benchmark: 'gsm8k' }, thrown),
    );

    expect(error).toMatchObject({ code: 'store-conflict', retryable: false });
    expect(String(error)).toContain(`${path} is a file where a directory belongs. Move it away`);
    expect(readFileSync(path, 'utf8')).toBe('mine\n');
  },
);

test('a request that is refused leaves no folder behind', async () => {
  const request = requestOf({ dataFolder: dataFolder(0) });

  await expect(evaluate(modelThatSays(numberIn).completer, request)).rejects.toThrow(/has no examples/);

  expect(() => readFileSync(request.folder)).toThrow(/ENOENT/);
});
