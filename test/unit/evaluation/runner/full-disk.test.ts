import fs from 'node:fs';
import { runBenchmarkShard } from '../../../../src/evaluation/runner/benchmark-shard';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { dataFolder, dependenciesOf, numberIn, requestOf } from './evaluate-here';
import { modelThatSays } from './fake-model';

const write = fs.writeSync;

afterEach(() => jest.restoreAllMocks());

test.each(['ENOSPC', 'EDQUOT', 'EROFS'])(
  'a shard whose answers cannot be written says so (%s), and goes on once they can',
  async (code) => {
    const { completer, asked } = modelThatSays((question) => `#### ${numberIn(question)}`);
    const dependencies = dependenciesOf(completer);
    const request = requestOf({ dataFolder: dataFolder(4) });
    const { name } = await planBenchmark(dependencies, request);
    const told: string[] = [];
    let isFull = true;
    jest.spyOn(fs, 'writeSync').mockImplementation((...given) => {
      if (!isFull || !Buffer.from(given[1]).includes('"example_id"')) return write(...given);
      throw Object.assign(new Error(code), { code, syscall: 'write' });
    });

    const counts = await runBenchmarkShard(
      dependencies,
      { run: request.run, folder: request.folder, benchmark: name, shard: 0 },
      {
        epoch: 1,
        signal: new AbortController().signal,
        onProgress(progress) {
          if (!('waiting' in progress)) return;
          told.push(progress.waiting ?? 'it goes on');
          isFull = false;
        },
      },
    );

    expect(told[0]).toMatch(
      /^The store cannot be used at \/.+\/samples\.jsonl: .* what waits for it goes on by itself\.$/,
    );
    expect(told[0]).toContain(code);
    expect(told.at(-1)).toBe('it goes on');
    expect(counts).toMatchObject({ done: 4, rewardSum: 4, errorCount: 0 });
    expect(asked).toHaveLength(4);
  },
);
