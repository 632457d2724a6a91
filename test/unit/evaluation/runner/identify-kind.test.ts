import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchmarkRequest } from '../../../../src/core/benchmark-run';
import { createBenchmarkRowReader } from '../../../../src/evaluation/benchmarks/benchmark-rows';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { identifyBenchmark } from '../../../../src/evaluation/runner/identify-benchmark';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { newFolder } from './fake-model';

const DEPENDENCIES = {
  readBenchmarkRows: (folder: string | undefined) =>
    createBenchmarkRowReader({
      hub: { cacheFolder: '/nowhere' },
      ...(folder !== undefined && { dataFolder: folder }),
    }),
  loadPlugins: async () => NO_PLUGINS,
  models: { promptFormat: () => 'role_colon' },
  now: () => new Date(),
};

test('says what a result of a task of the further kinds would be made of, as its plan does', async () => {
  const dataFolder = newFolder();
  mkdirSync(join(dataFolder, 'sst2'));
  const rows = ['good', 'bad'].map((sentence, label) => `${JSON.stringify({ sentence, label })}\n`);
  writeFileSync(join(dataFolder, 'sst2', 'data.jsonl'), rows.join(''));
  const request: BenchmarkRequest = {
    ...{ run: 'kind', folder: join(newFolder(), 'kind'), benchmark: 'sst2', dataFolder },
    model: {
      type: 'engine',
      model: 'everstep/tiny',
      path: 'tinker://a/1',
      label: 'run@1',
      identity: 'run/1/0',
    },
    ...{ numSamples: 1, concurrency: 4, agentConcurrency: 2 },
  };

  const { benchmark, identity } = await identifyBenchmark(DEPENDENCIES, request);

  expect(benchmark).toBe('sst2');
  expect(identity).toMatchObject({
    checkpoint: 'run@1',
    model: 'everstep/tiny',
    graderVersion: 'generation@1',
  });
  await planBenchmark(DEPENDENCIES, request);
  const otherData = identifyBenchmark(DEPENDENCIES, { ...request, maxExamples: 1 });
  expect((await otherData).identity.dataHash).not.toBe(identity.dataHash);
  await expect(planBenchmark(DEPENDENCIES, { ...request, maxExamples: 1 })).rejects.toThrow(
    'was begun with --max-examples unset, and 1 is asked for',
  );
});
