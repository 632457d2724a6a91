import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { EvaluatorConfig as EvaluatorSchema } from '../../../src/config/evaluation-config';
import { loadDataset } from '../../../src/datasets/load-dataset';
import { createBenchmarkRowReader } from '../../../src/evaluation/benchmarks/benchmark-rows';
import { cellMaking } from '../../../src/evaluation/cell-making';
import { evaluateCell } from '../../../src/evaluation/evaluate-cell';
import { dependenciesOf, modelThatSays, workOf } from './measured-model';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-making-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const conversation = (reply: string) =>
  `${JSON.stringify({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: reply },
    ],
  })}\n`;

const nll = (path: string, options: object = {}): EvaluatorConfig =>
  EvaluatorSchema.parse({ type: 'nll', name: 'test', dataset: { path }, ...options });

function making(evaluator: EvaluatorConfig, dataFolder = folder): Promise<string> {
  const { sampler } = modelThatSays(() => '');
  return cellMaking(
    {
      ...dependenciesOf(sampler),
      loadDataset: ({ path = [] }) => loadDataset({ path }),
      readBenchmarkRows: createBenchmarkRowReader({
        hub: { cacheFolder: join(folder, 'hub'), hubUrl: 'http://127.0.0.1:9' },
        dataFolder,
      }),
    },
    evaluator,
  );
}

describe('a cell is told by', () => {
  test('the content of its data, wherever that lies and however fast it is asked', async () => {
    const here = await making(nll(fileOf('a.jsonl', conversation('yes'))));
    const there = await making(nll(fileOf('b.jsonl', conversation('yes')), { concurrency: 3 }));
    const other = await making(nll(fileOf('a.jsonl', conversation('no'))));
    const fewer = await making(nll(fileOf('b.jsonl', conversation('yes')), { maxExamples: 1 }));

    expect(there).toBe(here);
    expect(other).not.toBe(here);
    expect(fewer).not.toBe(here);
  });

  test("the content of a benchmark's rows", async () => {
    const gsm8k = EvaluatorSchema.parse({ type: 'benchmark', benchmark: 'gsm8k' });
    const places = ['one', 'two', 'three'].map((name) => mkdtempSync(join(folder, name)));
    const [one = '', two = '', three = ''] = places;
    const rowsIn = (place: string, answer: string) => {
      const row = { question: '1 + 1?', answer: `It is\n#### ${answer}` };
      mkdirSync(join(place, 'gsm8k'));
      writeFileSync(join(place, 'gsm8k', 'data.jsonl'), `${JSON.stringify(row)}\n`);
    };
    rowsIn(one, '2');
    rowsIn(two, '2');
    rowsIn(three, '3');

    expect(await making(gsm8k, two)).toBe(await making(gsm8k, one));
    expect(await making(gsm8k, three)).not.toBe(await making(gsm8k, one));
  });

  test('the content of the file of an Inspect task', async () => {
    const inspect = (task: string) => EvaluatorSchema.parse({ type: 'inspect', tasks: [task, 'pkg/known'] });
    const one = mkdtempSync(join(folder, 'one'));
    const two = mkdtempSync(join(folder, 'two'));
    writeFileSync(join(one, 'task.py'), 'a = 1');
    writeFileSync(join(two, 'task.py'), 'a = 1');
    const before = await making(inspect(`${join(one, 'task.py')}@sums`));

    expect(await making(inspect(`${join(two, 'task.py')}@sums`))).toBe(before);
    expect(await making(inspect(`${join(two, 'task.py')}@others`))).not.toBe(before);
    writeFileSync(join(two, 'task.py'), 'a = 2');
    expect(await making(inspect(`${join(two, 'task.py')}@sums`))).not.toBe(before);
  });
});

test('a stored cell whose data changed under the same name is not told as the one of now', async () => {
  const sampler = {
    sample: async ({ prompt }: { readonly prompt: readonly number[] }) => ({
      sequences: [{ tokens: [0], logprobs: null, stopReason: 'length' as const }],
      promptLogprobs: prompt.map((_, index) => (index === 0 ? null : -1)),
    }),
  };
  const dependencies = {
    ...dependenciesOf(sampler),
    loadDataset: ({ path = [] }: { readonly path?: string | string[] | undefined }) => loadDataset({ path }),
  };
  const evaluator = nll(fileOf('held-out.jsonl', conversation('yes')));
  const work = { ...workOf({ name: 'test' }), evaluator };
  const scores = await evaluateCell(dependencies, work);

  expect(await evaluateCell(dependencies, { ...work, isAskedByName: true })).toEqual(scores);
  fileOf('held-out.jsonl', conversation('no'));
  await expect(evaluateCell(dependencies, { ...work, isAskedByName: true })).rejects.toThrow(
    'with another evaluator, data, plug-in file, grader or judge',
  );
});
