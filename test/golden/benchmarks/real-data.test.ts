import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findBenchmark } from '../../../src/evaluation/benchmarks';
import { createBenchmarkRowReader } from '../../../src/evaluation/benchmarks/benchmark-rows';
import { loadExamples } from '../../../src/evaluation/benchmarks/load-examples';
import type { Example } from '../../../src/evaluation/example';

/**
 * Every example of real benchmark data: its reference answer scores 1, an empty reply 0. The data lies beside the
 * repository (EVERSTEP_DATA_DIR); where it is absent these tests are skipped.
 */

const folder = process.env['EVERSTEP_DATA_DIR'] ?? resolve(__dirname, '../../../../shared/data');
const read = createBenchmarkRowReader({ hub: { cacheFolder: folder }, dataFolder: folder });

const GOLD: readonly [string, number, ((example: Example) => string) | null][] = [
  ['gsm8k', 1056, ({ target }) => `So it is \\boxed{${target}}.`],
  ['math500', 400, ({ target }) => `So it is \\boxed{${target}}.`],
  ['mmlu_pro', 4011, ({ target }) => target ?? ''],
  ['mmlu_redux', 4261, ({ target }) => target ?? ''],
  ['longbench', 36, ({ target }) => `The correct answer is (${target})`],
  ['ifeval', 433, null],
];

describe.each(GOLD)('%s', (name, count, gold) => {
  const given = existsSync(join(folder, name, 'data.jsonl')) ? test : test.skip;

  given('the reference answer of each example scores 1, an empty reply 0', async () => {
    const benchmark = findBenchmark(name);

    const { examples } = await loadExamples(benchmark, read);
    const scores = async (reply: (example: Example) => string) =>
      new Set(
        await Promise.all(examples.map(async (one) => (await benchmark.grader.grade(reply(one), one)).value)),
      );

    expect(examples).toHaveLength(count);
    expect(new Set(examples.map(({ id }) => id)).size).toBe(count);
    expect(await scores(() => '')).toEqual(new Set([0]));
    if (gold) expect(await scores(gold)).toEqual(new Set([1]));
  });
});
