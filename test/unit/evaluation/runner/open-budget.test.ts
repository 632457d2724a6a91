import type { AskingBudget, BenchmarkRequest } from '../../../../src/core/benchmark-run';
import type { Completer } from '../../../../src/core/completion';
import { runBenchmarkShard } from '../../../../src/evaluation/runner/benchmark-shard';
import { finishBenchmark } from '../../../../src/evaluation/runner/finish-benchmark';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { dataFolder, dependenciesOf, numberIn, requestOf } from './evaluate-here';
import { modelThatSays } from './fake-model';

const QUESTIONS = 12;

const right = () => modelThatSays((question) => `#### ${numberIn(question)}`);

/** What the workflow does where there is a budget: one shard after another. */
async function evaluateWithin(
  completer: Completer,
  request: BenchmarkRequest,
  signal = new AbortController().signal,
) {
  const dependencies = dependenciesOf(completer);
  const { name, starts, pendingShards } = await planBenchmark(dependencies, request);
  const place = { run: request.run, folder: request.folder, benchmark: name };
  const { budget } = request;
  for (const shard of pendingShards) {
    const input = { ...place, shard, ...(budget && { budget }) };
    await runBenchmarkShard(dependencies, input, {
      epoch: starts * 1000,
      signal,
      onProgress: () => undefined,
    });
  }
  return finishBenchmark(dependencies, place, starts);
}

function asked(count = QUESTIONS): (budget: AskingBudget) => BenchmarkRequest {
  const request = requestOf({ dataFolder: dataFolder(count), maxTokens: 8 });
  return (budget) => ({ ...request, budget });
}

test('a benchmark stops where the next request does not fit, and a higher budget goes on without asking again', async () => {
  const { completer, asked: questions } = right();
  const within = asked();

  const paused = await evaluateWithin(completer, within({ requests: 5 })).catch((error: unknown) => error);
  const before = questions.length;
  const summary = await evaluateWithin(completer, within({ requests: QUESTIONS }));

  expect(paused).toMatchObject({ code: 'over-budget', retryable: false });
  expect((paused as Error).message).toContain('5 of 5 requests used');
  expect(before).toBe(5);
  expect(new Set(questions).size).toBe(QUESTIONS);
  expect(questions).toHaveLength(QUESTIONS);
  expect(summary).toMatchObject({ score: 1, numExamples: QUESTIONS });
});

test.each<[string, (spentAtMost: number) => AskingBudget]>([
  ['tokens', (tokens) => ({ tokens })],
  ['dollars', (tokens) => ({ dollars: tokens / 1e6, dollarsPerMillionTokens: 1 })],
])(
  '%s are reserved as what a request may take at most, and settled by what it took',
  async (name, budget) => {
    const { completer, requests } = modelThatSays((question) => ({
      message: { role: 'assistant', content: `#### ${numberIn(question)}` },
      promptTokenCount: 200,
      completionTokenCount: 8,
    }));
    const within = asked();

    const paused = await evaluateWithin(completer, within(budget(1500))).catch((error: unknown) => error);

    const used = requests.length * 208;
    expect(requests.length).toBeGreaterThan(3);
    expect(used).toBeLessThanOrEqual(1500);
    expect(paused).toMatchObject({ code: 'over-budget' });
    expect((paused as Error).message).toContain(
      name === 'tokens' ? `${used} of 1500 tokens used` : 'of $0.0015',
    );
  },
);

test('shards share a budget, and of several starts each counts what those before it took', async () => {
  const count = 1200;
  const { completer, asked: questions } = right();
  const within = asked(count);

  const ends = [];
  for (const requests of [700, 900, count]) {
    const end = evaluateWithin(completer, within({ requests }));
    ends.push(await end.catch((error: unknown) => error));
    expect(questions).toHaveLength(requests);
  }

  expect(ends).toMatchObject([{ code: 'over-budget' }, { code: 'over-budget' }, { score: 1 }]);
});

test('what was under way when an attempt died counts as if all of it had been drawn', async () => {
  const died = new AbortController();
  const silent = modelThatSays(async (_, __, { signal }) => {
    if (silent.requests.length === 4) died.abort(new Error('the worker died'));
    return new Promise<string>((_resolve, reject) => {
      signal?.addEventListener('abort', () => {
        reject(new Error('called off'));
      });
      if (signal?.aborted) reject(new Error('called off'));
    });
  });
  const { completer, asked: questions } = right();
  const within = asked();

  await expect(evaluateWithin(silent.completer, within({ requests: 4 }), died.signal)).rejects.toThrow(
    'the worker died',
  );
  const paused = await evaluateWithin(completer, within({ requests: 6 })).catch((error: unknown) => error);

  expect(silent.requests).toHaveLength(4);
  expect(paused).toMatchObject({ code: 'over-budget' });
  expect(questions).toHaveLength(2);
});

test('a task that asks the model itself is refused', async () => {
  const request = {
    ...asked()({ tokens: 10 }),
    benchmark: 'arithmetic',
    inspectTask: { task: 'a/b', args: {} },
  };

  await expect(planBenchmark(dependenciesOf(right().completer), request)).rejects.toThrow(
    /Leave --budget out/,
  );
});
