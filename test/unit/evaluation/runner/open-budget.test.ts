import type { AskingBudget, BenchmarkRequest } from '../../../../src/core/benchmark-run';
import type { Completer } from '../../../../src/core/completion';
import { runBenchmarkShard } from '../../../../src/evaluation/runner/benchmark-shard';
import { finishBenchmark } from '../../../../src/evaluation/runner/finish-benchmark';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { openEndpoint } from '../../../../src/engines/openai/open-endpoint';
import type { ServerAnswer, ServerRequest } from '../../../contract/completer-server';
import { chatAnswer, startScriptedServer } from '../../../contract/completer-server';
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
  return finishBenchmark(dependencies, { ...place, ...(budget && { budget }) }, starts);
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

const PROMPT_TOKENS = 20;
const MAX_TOKENS = 200;
const CONCURRENCY = 16;

/** An endpoint that counts `times` what it was asked for at most. */
function billing(times: (request: ServerRequest) => number): (request: ServerRequest) => ServerAnswer {
  return (request) => {
    const completion = Number(request.body['max_tokens']) * times(request);
    const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: completion };
    const { body } = chatAnswer('#### 1');
    return { body: { ...(body as object), usage } };
  };
}

/** Asks a real endpoint, once within each budget. */
async function evaluateAtEndpoint(
  script: (request: ServerRequest) => ServerAnswer,
  budgets: readonly AskingBudget[],
  count = 40,
) {
  const server = await startScriptedServer(script);
  const open = () => openEndpoint({ url: server.url, model: 'm', api: 'chat', concurrency: CONCURRENCY });
  const within = requestOf({
    dataFolder: dataFolder(count),
    maxTokens: MAX_TOKENS,
    concurrency: CONCURRENCY,
  });
  const ends: { readonly end: unknown; readonly sentCount: number }[] = [];
  try {
    for (const budget of budgets) {
      const end = await evaluateWithin(open(), { ...within, budget }).catch((error: unknown) => error);
      ends.push({ end, sentCount: server.seen.length });
    }
    return { ends };
  } finally {
    await server.close();
  }
}

test('an endpoint that counts 50 times what it is asked for is asked once, and the end says what happened', async () => {
  const each = PROMPT_TOKENS + MAX_TOKENS * 50;

  const { ends } = await evaluateAtEndpoint(
    billing(() => 50),
    [{ tokens: 6000 }, { tokens: 6000 }, { tokens: 100_000 }],
  );

  const [first, again, higher] = ends;
  expect(first).toMatchObject({ end: { code: 'over-budget', retryable: false }, sentCount: 1 });
  expect(String(first?.end)).toContain(
    `its budget is passed by ${each - 6000} tokens: ${each} of 6000 tokens used. The service counts more tokens than maxTokens asks for: 10000 for an answer of at most 200`,
  );
  expect(again).toMatchObject({ end: { code: 'over-budget' }, sentCount: 1 });
  // With what was learned the next budget holds.
  const sent = higher?.sentCount ?? 0;
  expect(sent).toBeGreaterThan(5);
  expect(sent * each).toBeLessThanOrEqual(100_000);
  expect(String(higher?.end)).toContain(
    `the next answer, of up to 50 times maxTokens, as the service counts, would not fit its budget: ${sent * each} of 100000 tokens used`,
  );
});

test.each<[string, AskingBudget]>([
  ['tokens', { tokens: 20_000 }],
  ['dollars', { dollars: 0.02, dollarsPerMillionTokens: 1 }],
])(
  'where answers cost more later on, no more than was under way passes a budget of %s',
  async (_, budget) => {
    let firstDear = Infinity;
    const script = billing(({ index }) => {
      if (index < 20) return 0.1;
      firstDear = Math.min(firstDear, index);
      return 100;
    });

    const { ends } = await evaluateAtEndpoint(script, [budget]);

    const [first] = ends;
    expect(first?.end).toMatchObject({ code: 'over-budget' });
    expect(String(first?.end)).toContain('its budget is passed by');
    expect(firstDear).toBe(20);
    expect((first?.sentCount ?? 0) - firstDear).toBeLessThanOrEqual(CONCURRENCY);
  },
);

test('a benchmark whose last answer passes the budget is done, and says so', async () => {
  const { ends } = await evaluateAtEndpoint(
    billing(() => 50),
    [{ tokens: 6000 }],
    1,
  );

  expect(ends).toMatchObject([{ end: { numExamples: 1 }, sentCount: 1 }]);
  expect((ends[0]?.end as { readonly overBudget: string }).overBudget).toContain(
    'its budget is passed by 4020 tokens: 10020 of 6000 tokens used',
  );
});

test('a prompt to which the service adds tokens of its own has room reserved for them', async () => {
  const script = (): ServerAnswer => {
    const { body } = chatAnswer('#### 1');
    return { body: { ...(body as object), usage: { prompt_tokens: 5000, completion_tokens: 5 } } };
  };

  const { ends } = await evaluateAtEndpoint(script, [{ tokens: 3000 }, { tokens: 12_000 }]);

  expect(ends).toMatchObject([{ sentCount: 1 }, { sentCount: 2 }]);
  expect(String(ends[0]?.end)).toContain('its budget is passed by 2005 tokens');
  expect(String(ends[0]?.end)).toMatch(/counts up to 4\d{3} tokens more for a prompt than its text has/);
  expect(String(ends[1]?.end)).toContain('would not fit its budget: 10010 of 12000 tokens used');
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
