import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBenchmark } from '../../../../src/evaluation/benchmarks';
import type { Benchmark } from '../../../../src/evaluation/benchmarks/benchmark';
import { createBenchmarkRowReader } from '../../../../src/evaluation/benchmarks/benchmark-rows';
import { loadExamples } from '../../../../src/evaluation/benchmarks/load-examples';
import type { HubServer } from '../../hub/hub-server';
import { COMMIT, startHubServer } from '../../hub/hub-server';
import { INVENTED_ROWS } from './invented-rows';

let cacheFolder: string;
let server: HubServer | undefined;

beforeEach(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'everstep-hub-rows-'));
});

afterEach(async () => {
  await server?.close();
  await rm(cacheFolder, { recursive: true, force: true });
});

interface Served {
  readonly files: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** Reads a benchmark as it is declared, but for the name of its dataset and its commit. */
async function load(name: string, served: Served, configs?: readonly string[]) {
  const { url } = (server = await startHubServer({ kind: 'datasets', ...served }));
  const benchmark = findBenchmark(name);
  if (!('hub' in benchmark.data)) throw new Error('its data is not on the hub');
  const data = { ...benchmark.data, hub: 'org/name', revision: COMMIT, ...(configs && { configs }) };
  const declared: Benchmark = { ...benchmark, data };
  return loadExamples(declared, createBenchmarkRowReader({ hub: { cacheFolder, hubUrl: url } }));
}

function lines(...rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

test('reads the subsets of ceval and says which a question is from', async () => {
  const question = { A: '一', B: '二', C: '三', D: '四', answer: 'B' };
  const { examples, source } = await load(
    'ceval',
    {
      files: {
        'law/val.jsonl': lines({ ...question, question: '甲？' }),
        'law/dev.jsonl': lines({ ...question, question: '丁？' }),
        'logic/val.jsonl': lines({ ...question, question: '乙？' }, { ...question, question: '丙？' }),
      },
    },
    ['law', 'logic'],
  );

  expect(examples.map(({ row }) => row?.['_subject']).sort()).toEqual(['law', 'logic', 'logic']);
  expect(source).toContain('(law/val)');
});

test('reads the questions of gpqa from their CSV file', async () => {
  const { row = {} } = INVENTED_ROWS['gpqa'] ?? {};
  const quoted = (values: readonly unknown[]) =>
    values.map((value) => `"${String(value).replaceAll('"', '""')}"`).join(',');
  const csv = `${quoted(Object.keys(row))}\r\n${quoted(Object.values(row))}\r\n`;

  const { examples } = await load('gpqa', { files: { 'gpqa_diamond.csv': csv, 'gpqa_main.csv': 'x' } });

  expect(examples).toEqual([findBenchmark('gpqa').toExample(row, 0)]);
});

test('gated data is refused by naming the token', async () => {
  const files = { 'gpqa_diamond.csv': 'x' };

  await expect(load('gpqa', { files, token: 'hf_secret' })).rejects.toThrow(/gated.*Set HF_TOKEN/);
});
