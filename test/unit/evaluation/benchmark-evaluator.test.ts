import { existsSync, readdirSync } from 'node:fs';
import { dirname, basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EvaluatorConfig } from '../../../src/config/evaluation-config';
import { EvaluatorConfig as EvaluatorSchema } from '../../../src/config/evaluation-config';
import { DomainError } from '../../../src/core/errors';
import { findBenchmark } from '../../../src/evaluation/benchmarks';
import type { Benchmark } from '../../../src/evaluation/benchmarks/benchmark';
import { evaluateCell } from '../../../src/evaluation/evaluate-cell';
import type { PluginRegistry } from '../../../src/evaluation/plugins';
import { NO_PLUGINS } from '../../../src/evaluation/plugins';
import { readStoredCell } from '../../../src/evaluation/stored-cell';
import { validateEvaluators } from '../../../src/evaluation/validate-evaluators';
import { loadResult, loadTrajectories } from '../../../src/stores/eval-store';
import { readJsonLines } from '../../../src/stores/json-lines';
import { dependenciesOf, modelThatSays, sumIn, workOf } from './measured-model';

function arithmetic(maxExamples = 20): EvaluatorConfig {
  return EvaluatorSchema.parse({ type: 'benchmark', benchmark: 'arithmetic', maxExamples, concurrency: 4 });
}

function filesOf(folder: string) {
  return [dirname(folder), basename(folder)] as const;
}

test('scores a model that is right in three of four', async () => {
  const { sampler } = modelThatSays((question) => (Number(question[0]) % 4 === 0 ? '7' : sumIn(question)));
  const work = workOf();
  const evaluator = arithmetic(200);

  const [score] = await evaluateCell(dependenciesOf(sampler), { ...work, evaluator });

  const result = await loadResult(...filesOf(work.folder));
  const wrong = await loadTrajectories(...filesOf(work.folder), { incorrectOnly: true });
  expect(score).toEqual({
    metric: 'accuracy',
    key: 'test/arithmetic/accuracy',
    value: 1 - wrong.length / 200,
    ci: result?.ci,
    stderr: expect.any(Number) as number,
    n: 200,
    higherIsBetter: true,
    data: result?.identity.dataHash,
    grader: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
  });
  expect(wrong.every(({ logs }) => logs['answer'] === '7')).toBe(true);
  expect(result).toMatchObject({
    score: score?.value,
    score_completed: score?.value,
    num_examples: 200,
    num_correct: 200 - wrong.length,
    num_errors: 0,
    num_truncated: 0,
    pass_at_k: { '1': score?.value },
    identity: { benchmarkVersion: 1, graderVersion: 'numericAnswer@5', model: 'everstep/tiny' },
  });
  expect(result?.ci?.[0]).toBeLessThan(score?.value ?? 0);
});

test('writes trajectories as the field does', async () => {
  const { sampler } = modelThatSays(sumIn);
  const work = workOf();

  await evaluateCell(dependenciesOf(sampler), { ...work, evaluator: arithmetic(1) });

  const [trajectory] = await loadTrajectories(...filesOf(work.folder));
  const [asked, answered, judged] = trajectory?.turns ?? [];
  const [written] = await readJsonLines(join(work.folder, 'trajectories.jsonl'));
  expect(Object.keys(written ?? {})).toEqual([
    'idx',
    'benchmark',
    'example_id',
    'turns',
    'reward',
    'metrics',
    'logs',
    'error',
    'time_seconds',
  ]);
  expect(asked?.content).toMatch(/<\|user\|>\d\d\+\d\d=/);
  expect(answered).toMatchObject({
    role: 'assistant',
    content: `${String(trajectory?.logs['target'])}<|end|>`,
  });
  expect(judged).toMatchObject({ role: 'grader', metadata: { value: 1 } });
});

test('asks for nothing again once the cell is final', async () => {
  const { sampler, asked } = modelThatSays(sumIn);
  const work = workOf();
  const first = await evaluateCell(dependenciesOf(sampler), { ...work, evaluator: arithmetic() });

  const again = await evaluateCell(dependenciesOf(sampler), { ...work, epoch: 2, evaluator: arithmetic() });

  expect(again).toEqual(first);
  expect(asked).toHaveLength(20);
  expect(await readStoredCell(work.folder)).toMatchObject({ scores: first, model: work.model });
});

test('goes on from its journal when the engine went away', async () => {
  let callCount = 0;
  const failing = modelThatSays((question) => {
    if (++callCount > 12) throw new DomainError('unreachable', 'gone', { retryable: true });
    return sumIn(question);
  });
  const work = workOf();
  await expect(
    evaluateCell(dependenciesOf(failing.sampler), { ...work, evaluator: arithmetic() }),
  ).rejects.toMatchObject({
    code: 'unreachable',
  });
  expect(existsSync(join(work.folder, 'cell.json'))).toBe(false);

  const next = modelThatSays(sumIn);
  const [score] = await evaluateCell(dependenciesOf(next.sampler), {
    ...work,
    epoch: 2,
    evaluator: arithmetic(),
  });

  expect(score?.value).toBe(1);
  expect(next.asked).toHaveLength(8);
  expect(new Set([...failing.asked.slice(0, 12), ...next.asked]).size).toBe(20);
});

test('tries an example again, and counts it as an error when that does not help', async () => {
  const failures = new Map<string, number>();
  const { sampler, asked } = modelThatSays((question) => {
    const count = (failures.get(question) ?? 0) + 1;
    failures.set(question, count);
    if (count === 1) throw new Error('connection reset');
    if (question.startsWith('9')) throw new Error('always fails');
    return sumIn(question);
  });
  const work = workOf();

  const [score] = await evaluateCell(dependenciesOf(sampler), { ...work, evaluator: arithmetic(40) });

  const errors = await loadTrajectories(...filesOf(work.folder), { errorsOnly: true });
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.every(({ error, reward }) => error === 'always fails' && reward === 0)).toBe(true);
  expect(score?.value).toBeCloseTo(1 - errors.length / 40, 12);
  expect(score?.n).toBe(40);
  expect(score?.remark).toBe(
    `${errors.length} of 40 examples failed and count 0, the first with: always fails`,
  );
  expect(await loadResult(...filesOf(work.folder))).toMatchObject({
    num_errors: errors.length,
    score_completed: 1,
  });
  expect(asked).toHaveLength(2 * (40 - errors.length) + 3 * errors.length);
});

test('does not call it a score of 0 when no example could be asked', async () => {
  const { sampler } = modelThatSays(() => {
    throw new DomainError('request-failed', 'prompt refused', { category: 'user' });
  });
  const work = workOf();

  const evaluated = evaluateCell(dependenciesOf(sampler), { ...work, evaluator: arithmetic() });

  await expect(evaluated).rejects.toThrow('All 20 examples failed, the first with: prompt refused');
  expect(existsSync(join(work.folder, 'cell.json'))).toBe(false);
});

test('gives up on a completion that takes too long', async () => {
  const { sampler } = modelThatSays((question) =>
    question.startsWith('9') ? new Promise<string>(() => undefined) : sumIn(question),
  );
  const work = workOf();

  await evaluateCell(dependenciesOf(sampler, { timeoutMs: 20 }), { ...work, evaluator: arithmetic(40) });

  const errors = await loadTrajectories(...filesOf(work.folder), { errorsOnly: true });
  expect(errors[0]?.error).toBe('timeout (0.02s)');
});

test('counts truncated completions as wrong, apart from errors', async () => {
  const { sampler } = modelThatSays((question) =>
    question.startsWith('1') ? '1'.repeat(50) : sumIn(question),
  );
  const work = workOf();

  const [score] = await evaluateCell(dependenciesOf(sampler), { ...work, evaluator: arithmetic(40) });

  const result = await loadResult(...filesOf(work.folder));
  expect(result?.num_truncated).toBeGreaterThan(0);
  expect(score?.value).toBeCloseTo(1 - (result?.num_truncated ?? 0) / 40, 12);
  expect(result).toMatchObject({ num_errors: 0, score_completed: 1 });
});

test('leaves no room, samples nothing', async () => {
  const { sampler, asked } = modelThatSays(sumIn);
  const work = workOf();

  await evaluateCell(dependenciesOf(sampler, { contextLength: 3 }), { ...work, evaluator: arithmetic(2) });

  expect(asked).toEqual([]);
  expect(await loadResult(...filesOf(work.folder))).toMatchObject({
    score: 0,
    num_truncated: 2,
    score_completed: null,
  });
});

test('never uses the answers of another model', async () => {
  const work = workOf();
  const stop = new AbortController();
  const first = modelThatSays((question) => {
    if (first.asked.length === 10) stop.abort();
    return sumIn(question);
  });
  await expect(
    evaluateCell(dependenciesOf(first.sampler), { ...work, signal: stop.signal, evaluator: arithmetic() }),
  ).rejects.toMatchObject({ name: 'AbortError' });

  const second = modelThatSays(() => '0');
  const other = { name: 'everstep/tiny', path: 'tinker://other/sampler_weights/20' };
  const [score] = await evaluateCell(dependenciesOf(second.sampler), {
    ...work,
    epoch: 2,
    model: other,
    evaluator: arithmetic(),
  });

  expect(second.asked).toHaveLength(20);
  expect(score?.value).toBe(0);
});

test('uses the answers of the same weights at another path', async () => {
  const work = workOf();
  const stop = new AbortController();
  const first = modelThatSays((question) => {
    if (first.asked.length === 10) stop.abort();
    return sumIn(question);
  });
  const model = { name: 'everstep/tiny', path: 'tinker://before', identity: 'run/20/0' };
  await evaluateCell(dependenciesOf(first.sampler), {
    ...work,
    model,
    signal: stop.signal,
    evaluator: arithmetic(),
  }).catch(() => undefined);

  const second = modelThatSays(sumIn);
  const moved = { ...model, path: 'tinker://after' };
  await evaluateCell(dependenciesOf(second.sampler), {
    ...work,
    epoch: 2,
    model: moved,
    evaluator: arithmetic(),
  });

  const rows = await readJsonLines<{ example_id: string }>(join(work.folder, 'journal', 'samples.jsonl'));
  expect(second.asked.length).toBeLessThan(20);
  expect(new Set(rows.map(({ example_id }) => example_id)).size).toBe(rows.length);
});

test('stops paying when a later attempt has taken over', async () => {
  const work = workOf();
  const second = modelThatSays(sumIn);
  let successor: Promise<unknown> = Promise.resolve();
  const first = modelThatSays(async (question) => {
    if (first.asked.length === 5) {
      successor = evaluateCell(dependenciesOf(second.sampler), {
        ...work,
        epoch: 2,
        evaluator: arithmetic(),
      });
    }
    // Whatever is asked from here on is answered after the takeover.
    await successor;
    await delay(30);
    return sumIn(question);
  });

  const overtaken = evaluateCell(dependenciesOf(first.sampler), { ...work, evaluator: arithmetic() });

  await expect(overtaken).rejects.toMatchObject({ code: 'superseded' });
  await successor;
  // A round under way when it happened, and one in the moment until the next look.
  expect(first.asked.length).toBeLessThanOrEqual(5 + 2 * 4);
  expect((await readStoredCell(work.folder))?.scores[0]?.value).toBe(1);
});

test('does not write over the results of its successor when overtaken at its very end', async () => {
  const work = workOf();
  const evaluator = arithmetic(1);
  const second = modelThatSays(sumIn);
  const first = modelThatSays(async () => {
    await evaluateCell(dependenciesOf(second.sampler), { ...work, epoch: 2, evaluator });
    return '0';
  });

  await expect(evaluateCell(dependenciesOf(first.sampler), { ...work, evaluator })).rejects.toMatchObject({
    code: 'superseded',
  });

  expect(await loadResult(...filesOf(work.folder))).toMatchObject({ score: 1 });
});

test('seeds by example, whatever the order', async () => {
  const seedsOf = async (maxExamples: number) => {
    const { sampler, asked, requests } = modelThatSays(sumIn);
    const evaluator = arithmetic(maxExamples);
    await evaluateCell(dependenciesOf(sampler), { ...workOf(), evaluator });
    return new Map(asked.map((question, index) => [question, requests[index]?.params.seed]));
  };

  const few = await seedsOf(5);
  const many = await seedsOf(20);

  for (const [question, seed] of few) expect(many.get(question)).toBe(seed);
  expect(new Set(many.values()).size).toBe(20);
});

test('tells how far it is', async () => {
  const { sampler } = modelThatSays(sumIn);
  const told: unknown[] = [];

  await evaluateCell(dependenciesOf(sampler), {
    ...workOf({ onProgress: (progress) => told.push(progress) }),
    evaluator: arithmetic(3),
  });

  expect(told).toEqual([1, 2, 3].map((done) => ({ done, total: 3, score: 1 })));
});

test('leaves only what the layout names', async () => {
  const { sampler } = modelThatSays(sumIn);
  const work = workOf();
  await evaluateCell(dependenciesOf(sampler), { ...work, evaluator: arithmetic(2) });

  expect(readdirSync(work.folder).sort()).toEqual([
    'cell.json',
    'journal',
    'result.json',
    'trajectories.jsonl',
  ]);
});

/** Three problems of three months, whose answers are numbers. */
const DATED: PluginRegistry = {
  ...NO_PLUGINS,
  benchmarks: new Map([
    [
      'dated',
      (): Benchmark => ({
        ...findBenchmark('arithmetic'),
        ...{ name: 'dated', orderSeed: null, dateOf: ({ row = {} }) => String(row['day']) },
        data: { rows: () => ['2025-01-10', '2025-02-10', '2025-03-10'].map((day) => ({ day })) },
        toExample: ({ day }) => ({
          id: String(day),
          messages: [{ role: 'user', content: '1+1=' }],
          target: '2',
          row: { day },
        }),
      }),
    ],
  ]),
};

function dated(options: object): EvaluatorConfig {
  return EvaluatorSchema.parse({ type: 'benchmark', benchmark: 'dated', ...options });
}

describe('options that a benchmark has in everstep eval', () => {
  const run = async (evaluator: EvaluatorConfig) => {
    const { sampler, asked } = modelThatSays(sumIn);
    const work = workOf();
    const scores = await evaluateCell(dependenciesOf(sampler, { plugins: DATED }), { ...work, evaluator });
    return { scores, asked, result: await loadResult(...filesOf(work.folder)) };
  };

  test('days limit the examples and are part of the identity', async () => {
    const { scores, result } = await run(dated({ startDate: '2025-02-01', endDate: '2025-03-01' }));
    const all = await run(dated({}));

    expect(scores[0]).toMatchObject({ value: 1, n: 1 });
    expect(result?.identity).toMatchObject({ startDate: '2025-02-01', endDate: '2025-03-01' });
    expect(result?.identity.dataHash).not.toBe(all.result?.identity.dataHash);
    expect(all.result?.num_examples).toBe(3);
    expect(all.result?.identity).not.toHaveProperty('startDate');
  });

  test('several samples of each example give pass@k', async () => {
    const { scores, asked, result } = await run(dated({ numSamples: 2, contextWindow: 500 }));

    expect(asked).toHaveLength(6);
    expect(scores[0]).toMatchObject({ value: 1, n: 3 });
    expect(result).toMatchObject({
      pass_at_k: { '1': 1, '2': 1 },
      identity: { sampling: { numSamples: 2, contextWindow: 500 } },
    });
  });

  test('days without an example, or of a benchmark without dates, are refused', async () => {
    await expect(run(dated({ startDate: '2026-01-01' }))).rejects.toThrow(/no example from 2026-01-01/);
    const undated = EvaluatorSchema.parse({ ...arithmetic(), startDate: '2026-01-01' });
    expect(() => {
      validateEvaluators([undated], NO_PLUGINS);
    }).toThrow(/have no date/);
  });
});
