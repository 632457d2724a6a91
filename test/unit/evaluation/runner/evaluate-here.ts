import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchmarkRequest } from '../../../../src/core/benchmark-run';
import type { Completer } from '../../../../src/core/completion';
import { createBenchmarkRowReader } from '../../../../src/evaluation/benchmarks/benchmark-rows';
import { loadPlugins, NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { runBenchmarkShard } from '../../../../src/evaluation/runner/benchmark-shard';
import { finishBenchmark } from '../../../../src/evaluation/runner/finish-benchmark';
import { createPermitPool } from '../../../../src/evaluation/runner/permits';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { newFolder } from './fake-model';

/** Questions about a number, as a publisher of GSM8K would put them. */
export function dataFolder(count: number): string {
  const folder = newFolder();
  mkdirSync(join(folder, 'gsm8k'));
  const rows = Array.from({ length: count }, (_, index) => ({
    question: `Number ${index}?`,
    answer: `#### ${index}`,
  }));
  writeFileSync(join(folder, 'gsm8k', 'data.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return folder;
}

export function requestOf(changes: Partial<BenchmarkRequest> = {}): BenchmarkRequest {
  return {
    run: 'eval-one',
    folder: join(newFolder(), 'eval-one'),
    benchmark: 'gsm8k',
    model: { type: 'endpoint', url: 'http://127.0.0.1:1/v1', api: 'chat', model: 'canned' },
    numSamples: 1,
    concurrency: 16,
    agentConcurrency: 2,
    ...changes,
  };
}

export function dependenciesOf(completer: Completer) {
  return {
    readBenchmarkRows: (folder: string | undefined) =>
      createBenchmarkRowReader({
        hub: { cacheFolder: '/nowhere' },
        ...(folder !== undefined && { dataFolder: folder }),
      }),
    loadPlugins: async (file: string | undefined) => (file === undefined ? NO_PLUGINS : loadPlugins(file)),
    models: {
      open: async () => ({ completer }),
      promptFormat: () => 'chat',
      promptTextOf: async () => null,
    },
    permitsOf: createPermitPool(),
    now: () => new Date(),
  };
}

export const numberIn = (question: string) => /Number (\d+)\?/.exec(question)?.[1] ?? '';

/** What the workflow does. */
export async function evaluate(completer: Completer, request: BenchmarkRequest) {
  const dependencies = dependenciesOf(completer);
  const planned = await planBenchmark(dependencies, request);
  if (planned.finished) return planned.finished;
  const place = { run: request.run, folder: request.folder, benchmark: planned.name };
  await Promise.all(
    planned.pendingShards.map((shard) =>
      runBenchmarkShard(
        dependencies,
        { ...place, shard },
        { epoch: planned.starts * 1000, signal: new AbortController().signal, onProgress: () => undefined },
      ),
    ),
  );
  return finishBenchmark(dependencies, place, planned.starts);
}
