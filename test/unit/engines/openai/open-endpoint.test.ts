import { setImmediate } from 'node:timers/promises';
import type { Completer, CompletionRequest } from '../../../../src/core/completion';
import type { EndpointOptions } from '../../../../src/engines/openai/open-endpoint';
import { openEndpoint } from '../../../../src/engines/openai/open-endpoint';
import type { ServerAnswer, ServerRequest } from '../../../contract/completer-server';
import { chatAnswer, startScriptedServer } from '../../../contract/completer-server';

type Script = (request: ServerRequest) => ServerAnswer;

const asking = (content: string): CompletionRequest => ({
  messages: [{ role: 'user', content }],
  params: { maxTokens: 16, temperature: 0, topP: 1 },
});

async function withEndpoint<Result>(
  { script, ...options }: { readonly script: Script } & Partial<EndpointOptions>,
  run: (completer: Completer) => Promise<Result>,
): Promise<Result> {
  const server = await startScriptedServer(script);
  const completer = openEndpoint({ url: server.url, model: 'm', api: 'chat', concurrency: 4, ...options });
  try {
    return await run(completer);
  } finally {
    await completer.close();
    await server.close();
  }
}

function failureAt(body: unknown, options: Partial<EndpointOptions> = {}): Promise<unknown> {
  return withEndpoint({ script: () => ({ body }), ...options }, (completer) =>
    completer.complete(asking('2+2?')).then(
      () => 'a completion',
      (error: unknown) => error,
    ),
  );
}

const isPoison = ({ body }: ServerRequest): boolean => JSON.stringify(body).includes('poison');

test('tells what it waits for while nobody is answered', async () => {
  const isDone = new AbortController();
  const told: (string | null)[] = [];
  const onWaiting = (reason: string | null) => {
    told.push(reason);
    if (told.length === 2) isDone.abort();
  };
  const script: Script = () => ({ status: 500, body: { error: { message: 'CUDA said no' } } });

  await withEndpoint({ script }, (completer) =>
    completer.complete(asking('2+2?'), { onWaiting, signal: isDone.signal }).catch(() => undefined),
  );

  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(/^the endpoint at http:\S+ gives nothing but failures \(500: CUDA said no\)$/);
});

test('what it waited for is over once it is answered', async () => {
  const told: (string | null)[] = [];
  const script: Script = () =>
    told.length === 0 ? { status: 500, body: { error: { message: 'CUDA said no' } } } : chatAnswer('4');

  await withEndpoint({ script }, (completer) =>
    completer.complete(asking('2+2?'), { onWaiting: (reason) => told.push(reason) }),
  );

  expect(told).toEqual([expect.stringContaining('CUDA said no'), null]);
});

test('a long wait that a server asks for is told at once', async () => {
  const isDone = new AbortController();
  const told: (string | null)[] = [];
  const onWaiting = (reason: string | null) => {
    told.push(reason);
    isDone.abort();
  };
  const script: Script = () => ({ status: 429, headers: { 'retry-after': '99999999' }, body: {} });

  await withEndpoint({ script }, (completer) =>
    completer.complete(asking('2+2?'), { onWaiting, signal: isDone.signal }).catch(() => undefined),
  );

  expect(told[0]).toMatch(
    /^the endpoint at http:\S+ has no capacity for "m", and is asked again in 600 s, as it says$/,
  );
});

test('a long wait is told also where others were answered meanwhile', async () => {
  const isDone = new AbortController();
  const told: (string | null)[] = [];
  const onWaiting = (reason: string | null) => {
    told.push(reason);
    if (reason !== null) isDone.abort();
  };
  let refusals = 0;
  const script: Script = ({ body }) => {
    if (JSON.stringify(body).includes('another')) return chatAnswer('4');
    const headers = { 'retry-after': (refusals += 1) === 1 ? '0' : '60' };
    return { status: 429, headers, body: {} };
  };

  await withEndpoint({ script }, async (completer) => {
    const waiting = completer
      .complete(asking('2+2?'), { onWaiting, signal: isDone.signal })
      .catch(() => undefined);
    while (refusals === 0) await setImmediate();
    await completer.complete(asking('another'));
    await waiting;
  });

  expect(told.at(-1)).toMatch(/and is asked again in 60 s, as it says$/);
});

test('a key that the endpoint repeats is not in what it answered', async () => {
  const apiKey = 'private-0123456789';
  const script: Script = () => chatAnswer(`your key is ${apiKey}!`);

  const answer = await withEndpoint({ script, apiKey }, (completer) => completer.complete(asking('my key?')));

  expect(JSON.stringify(answer)).toContain('your key is …!');
  expect(JSON.stringify(answer)).not.toContain(apiKey);
});

test('an address with a key in its query is refused, naming the parameter alone', () => {
  const open = (url: string) => openEndpoint({ url, model: 'm', api: 'chat', concurrency: 4 });

  for (const name of [
    'api-key',
    'apiKey',
    'api_key',
    'key',
    'subscription-key',
    'ocpApimSubscriptionKey',
    'provider_key',
    'subscription',
    'pass',
    'password',
    'access',
    'access_token',
    'sig',
    'code',
  ]) {
    expect(() => open(`http://host/v1?${name}=very-private`)).toThrow(
      `The URL of the endpoint at host holds a key (its parameter ${name}), and addresses are stored.`,
    );
  }
  expect(() => open('http://host/v1?api-version=1&model_code_name=x&monkey=1')).not.toThrow();
});

test.each([
  ['http://host/v1?x=sk-MARK0123456789', 'x'],
  ['http://host/v1?x=1&auth-header=Bearer%20hf_MARK0123456789', 'auth-header'],
  ['http://host/v1?tml-MARK0123456789', 'without a name'],
  ['http://host/v1#sk-proj-MARK0123456789', 'without a name'],
  ['http://host/v1#x=eyJMARK0123456789.abc.def', 'x'],
  ['http://host/v1#access_token=MARK', 'access_token'],
])('an address with what is written as a key is refused without it: %s', (url, name) => {
  const open = () => openEndpoint({ url, model: 'm', api: 'chat', concurrency: 4 });

  expect(open).toThrow(`The URL of the endpoint at host holds a key (its parameter ${name}),`);
  expect(open).not.toThrow('MARK');
});

test.each([
  '?cache_key=abc',
  '?cacheKey=abc&sort-key=name',
  '?model=sk-learn-classifier',
  '?task-pass=1&ask-SK=risk-AVERSE1',
  '#token',
])('an address with harmless parameters is taken: %s', (rest) => {
  const url = `http://host/v1${rest}`;

  expect(() => openEndpoint({ url, model: 'm', api: 'chat', concurrency: 4 })).not.toThrow();
});

test('sends nothing more once its process is to end; what is under way ends', async () => {
  const stopping = new AbortController();
  const calledOff = new AbortController();
  let sentCount = 0;
  const script: Script = () => {
    sentCount += 1;
    // The first answer finds that the process is to end: none of the others is sent.
    stopping.abort();
    return chatAnswer('4');
  };
  const options = { script, concurrency: 1, stopping: stopping.signal };

  const outcomes = await withEndpoint(options, async (completer) => {
    const asked = Array.from({ length: 8 }, async () => {
      const answer = await completer.complete(asking('2+2?'), { signal: calledOff.signal });
      calledOff.abort();
      return answer;
    });
    return Promise.allSettled(asked);
  });

  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(sentCount).toBe(1);
});

describe('one request that always fails', () => {
  const failures: readonly [string, ServerAnswer, RegExp][] = [
    ['gets a 500', { status: 500, body: { error: { message: 'CUDA said no' } } }, /500: CUDA said no/],
    [
      'gets a page',
      { status: 200, body: '<html>GRADE: C</html>' },
      /\(an answer that is no JSON object: <html>/,
    ],
    ['is cut off', { isBroken: true }, /although it is up \(.+\)/],
  ];

  test.each(failures)('%s: is an error of its own where others are answered', async (_, failure, words) => {
    const script: Script = (request) => (isPoison(request) ? failure : chatAnswer('4'));

    const outcome = await withEndpoint({ script, patienceMs: 600 }, async (completer) => {
      const over = new AbortController();
      const poisoned = completer
        .complete(asking('poison'))
        .catch((error: unknown) => error)
        .finally(() => {
          over.abort();
        });
      while (!over.signal.aborted) await completer.complete(asking('2+2?'));
      return poisoned;
    });

    expect(outcome).toMatchObject({ code: 'request-failed', category: 'server', retryable: false });
    expect((outcome as Error).message).toMatch(words);
  });

  test('is an error of its own where it is the only one left', async () => {
    const script: Script = (request) => (isPoison(request) ? { status: 500, body: 'no' } : chatAnswer('4'));

    const outcome = await withEndpoint({ script, patienceMs: 300 }, (completer) =>
      completer.complete(asking('poison')).catch((error: unknown) => error),
    );

    expect(outcome).toMatchObject({ code: 'request-failed', category: 'server', retryable: false });
    expect((outcome as Error).message).toMatch(/failed this request for \d+ s, although it is up/);
  });

  test('does not hold up the others where all places are taken by such', async () => {
    const script: Script = (request) => (isPoison(request) ? { status: 500, body: 'no' } : chatAnswer('4'));
    const options = { script, patienceMs: 300, concurrency: 2 };

    const outcomes = await withEndpoint(options, (completer) =>
      Promise.allSettled(
        ['poison 1', 'poison 2', 'poison 3', '2+2?'].map((text) => completer.complete(asking(text))),
      ),
    );

    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
    for (const outcome of outcomes.slice(0, 3)) {
      expect(outcome).toMatchObject({ reason: { code: 'request-failed' } });
    }
  });

  test('is `unreachable` where nobody is answered, whatever was before', async () => {
    let isAway = false;
    const script: Script = () => (isAway ? { status: 500, body: 'no' } : chatAnswer('4'));

    const outcome = await withEndpoint({ script, patienceMs: 300 }, async (completer) => {
      await completer.complete(asking('2+2?'));
      isAway = true;
      return completer.complete(asking('poison')).catch((error: unknown) => error);
    });

    expect(outcome).toMatchObject({ code: 'unreachable', retryable: true });
  });

  test('is tried again where the endpoint comes back just when patience ends', async () => {
    let count = 0;
    // The first attempts and what is asked in between fail; the endpoint is back when its health is looked at.
    const script: Script = (request) =>
      JSON.stringify(request.body).includes('2+2') && ++count <= 2
        ? { status: 500, body: 'no' }
        : chatAnswer('4');

    const outcome = await withEndpoint({ script, patienceMs: 1 }, (completer) =>
      completer.complete(asking('2+2?')).catch((error: unknown) => error),
    );

    expect(outcome).toMatchObject({ rawText: '4' });
  });
});

describe('a malformed choice is an error of the server, which names the field', () => {
  test.each([
    [{ message: { content: 42 }, finish_reason: 7 }, 'message.content'],
    [{ message: { content: 'x' }, finish_reason: 7 }, 'finish_reason'],
    [{ message: null }, 'message is no object'],
    [{ finish_reason: 'stop' }, 'message is no object'],
    [{ message: { content: { a: 1 } } }, 'message.content'],
    [{ message: { content: [3] } }, 'message.content'],
    [{ message: { content: [{ type: 'text', text: 3 }] } }, 'message.content'],
  ])('%j', async (choice, words) => {
    const failure = await failureAt({ choices: [choice] });

    expect(failure).toMatchObject({ code: 'request-failed', category: 'server' });
    expect((failure as Error).message).toContain(words);
  });

  test.each([{ text: 42 }, {}])('of the completions API: %j', async (choice) => {
    const failure = await failureAt({ choices: [choice] }, { api: 'completions' });

    expect(failure).toMatchObject({ code: 'request-failed', category: 'server' });
    expect((failure as Error).message).toContain('text is no text');
  });

  test('no content is an empty answer', async () => {
    const body = { choices: [{ message: { content: null }, finish_reason: 'stop' }] };

    const completion = await withEndpoint({ script: () => ({ body }) }, (completer) =>
      completer.complete(asking('2+2?')),
    );

    expect(completion).toMatchObject({ rawText: '', stopReason: 'stop', message: { content: '' } });
    expect(completion.isMalformed).toBeUndefined();
  });
});

describe('large answers', () => {
  test('more than 4 MB is an error that says so', async () => {
    const failure = await failureAt(chatAnswer('1 '.repeat(2 ** 21)).body);

    expect(failure).toMatchObject({ code: 'request-failed', category: 'server' });
    expect((failure as Error).message).toContain('more than 4 MB');
  });

  test('just below 4 MB is read', async () => {
    const text = '1 '.repeat(2 ** 21 - 500);

    const { rawText } = await withEndpoint({ script: () => chatAnswer(text) }, (completer) =>
      completer.complete(asking('2+2?')),
    );

    expect(rawText).toBe(text);
  });
});

test.each<[string, Record<string, number>, number | null]>([
  ['with reasoning', { prompt_tokens: 7, completion_tokens: 30, total_tokens: 37 }, 30],
  ['and reasoning apart', { prompt_tokens: 7, completion_tokens: 3, total_tokens: 37 }, 30],
  ['in the total alone', { prompt_tokens: 7, total_tokens: 37 }, 30],
  ['without a total', { prompt_tokens: 7, completion_tokens: 3 }, 3],
  ['as no number of tokens', { prompt_tokens: 7, completion_tokens: 1e300, total_tokens: 1e300 }, null],
  ['in parts of a token', { prompt_tokens: 7, completion_tokens: 2.5 }, null],
  ['not at all', { prompt_tokens: 7, total_tokens: 7 }, null],
])('counts what an answer took, which a service says %s', async (_, usage, count) => {
  const script: Script = () => ({ body: { ...(chatAnswer('4').body as object), usage } });

  const completion = await withEndpoint({ script }, (completer) => completer.complete(asking('2+2?')));

  expect(completion.completionTokenCount).toBe(count);
});
