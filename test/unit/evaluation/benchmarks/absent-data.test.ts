import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DomainError } from '../../../../src/core/errors';
import { findBenchmark } from '../../../../src/evaluation/benchmarks';
import { createBenchmarkRowReader } from '../../../../src/evaluation/benchmarks/benchmark-rows';
import { loadExamples } from '../../../../src/evaluation/benchmarks/load-examples';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-absent-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function messageWith(dataFolder?: string): Promise<string> {
  const hub = {
    ...{ cacheFolder: folder, hubUrl: 'http://127.0.0.1:1' },
    patience: { idleMs: 200, attempts: 1, pauseMs: 1 },
  };
  const read = createBenchmarkRowReader({ hub, ...(dataFolder !== undefined && { dataFolder }) });
  return loadExamples(findBenchmark('gsm8k'), read).then(
    () => 'loaded',
    (error: unknown) => (error instanceof DomainError ? error.message : String(error)),
  );
}

test('data that cannot be fetched is asked for by the place where it is looked for', async () => {
  const message = await messageWith();

  expect(message).toContain('could not be fetched');
  expect(message).toContain(
    'Or put its rows at EVERSTEP_DATA_DIR/gsm8k/data.jsonl; that variable names a folder of data.',
  );
  expect(message).not.toContain('save the files');
});

test('names the file itself where the folder of data is known', async () => {
  expect(await messageWith(folder)).toContain(`Or put its rows at ${join(folder, 'gsm8k', 'data.jsonl')}.`);
});
