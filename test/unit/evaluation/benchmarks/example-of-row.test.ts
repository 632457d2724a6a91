import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBenchmark } from '../../../../src/evaluation/benchmarks';
import { createBenchmarkRowReader } from '../../../../src/evaluation/benchmarks/benchmark-rows';
import { loadExamples } from '../../../../src/evaluation/benchmarks/load-examples';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-rows-'));
  mkdirSync(join(folder, 'gsm8k'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  [{ question: 'What is 1?' }, 'no text under "answer"'],
  [{ question: { nested: true }, answer: '#### 1' }, 'no text under "question"'],
])('names benchmark, file and line of a row of another shape: %j', async (row, reason) => {
  const file = join(folder, 'gsm8k', 'data.jsonl');
  const good = JSON.stringify({ question: 'What is 2?', answer: '#### 2' });
  writeFileSync(file, `${good}\n\n${JSON.stringify(row)}\n`);
  const read = createBenchmarkRowReader({ hub: { cacheFolder: '/nowhere' }, dataFolder: folder });

  await expect(loadExamples(findBenchmark('gsm8k'), read)).rejects.toMatchObject({
    code: 'bad-dataset',
    message: expect.stringContaining(`gsm8k: ${file} line 3: ${reason}`) as string,
  });
});
