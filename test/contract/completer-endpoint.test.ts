import fc from 'fast-check';
import { startBenchEndpoint } from '../../bench/endpoint';
import type { Completer, CompletionRequest } from '../../src/core/completion';
import type { DomainError } from '../../src/core/errors';
import type { EndpointOptions } from '../../src/engines/openai/open-endpoint';
import { openEndpoint } from '../../src/engines/openai/open-endpoint';
import type { CompleterFixture } from './completer';
import { describeCompleter } from './completer';
import type { ScriptedServer, ServerAnswer, ServerRequest } from './completer-server';
import { chatAnswer, deadUrl, startScriptedServer, textAnswer } from './completer-server';

const OVERFLOW = {
  status: 400,
  body: {
    error: {
      message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    },
  },
};

const REQUEST: CompletionRequest = {
  messages: [{ role: 'user', content: '2+2?' }],
  params: { maxTokens: 16, temperature: 0.6, topP: 0.95, seed: 7, stop: ['END'] },
};

for (const api of ['chat', 'completions'] as const) describeCompleter(endpointFixture(api));

function endpointFixture(api: EndpointOptions['api']): CompleterFixture {
  return {
    name: `${api} at an endpoint`,
    async open({ answer, delayMs }) {
      const endpoint = await startBenchEndpoint({ answer, ...(delayMs !== undefined && { delayMs }) });
      const completer = openEndpoint({ url: endpoint.url, model: 'canned', api, concurrency: 64 });
      return { completer, close: () => endpoint.close() };
    },
    async openTooShort() {
      const server = await startScriptedServer(() => OVERFLOW);
      const completer = openEndpoint({ url: server.url, model: 'm', api, concurrency: 2 });
      return { completer, close: () => server.close() };
    },
  };
}

type Script = (request: ServerRequest) => ServerAnswer | Promise<ServerAnswer>;

async function withEndpoint(
  { script, ...options }: { readonly script: Script } & Partial<EndpointOptions>,
  run: (completer: Completer, server: ScriptedServer) => Promise<void>,
): Promise<void> {
  const server = await startScriptedServer(script);
  const completer = openEndpoint({ url: server.url, model: 'm', api: 'chat', concurrency: 8, ...options });
  try {
    await run(completer, server);
  } finally {
    await completer.close();
    await server.close();
  }
}

const completeAll = (completer: Completer, count: number): Promise<unknown[]> =>
  Promise.all(Array.from({ length: count }, () => completer.complete(REQUEST)));

describe('what is sent', () => {
  test('a chat request has the conversation, the parameters and the key', async () => {
    await withEndpoint(
      { script: () => chatAnswer('4'), apiKey: 'secret', model: 'gpt-x' },
      async (completer, { seen }) => {
        await completer.complete(REQUEST);

        expect(seen[0]?.url).toBe('/v1/chat/completions');
        expect(seen[0]?.headers.authorization).toBe('Bearer secret');
        expect(seen[0]?.body).toEqual({
          model: 'gpt-x',
          messages: [{ role: 'user', content: '2+2?' }],
          max_tokens: 16,
          temperature: 0.6,
          top_p: 0.95,
          seed: 7,
          stop: ['END'],
        });
      },
    );
  });

  test('a completions request has a prompt in role_colon style, which the next turn ends', async () => {
    await withEndpoint(
      { script: () => textAnswer(' 4\n\n'), api: 'completions' },
      async (completer, { seen }) => {
        const { message, rawText } = await completer.complete(REQUEST);

        expect(seen[0]?.url).toBe('/v1/completions');
        expect(seen[0]?.headers.authorization).toBeUndefined();
        expect(seen[0]?.body).toMatchObject({
          prompt: 'User: 2+2?\n\nAssistant:',
          stop: ['END', '\n\nUser:'],
        });
        expect(seen[0]?.body['echo'] ?? false).toBe(false);
        expect({ content: message.content, rawText }).toEqual({ content: '4', rawText: ' 4\n\n' });
      },
    );
  });

  test('a prompt of another style is made by its function and has only the stops asked for', async () => {
    const renderPrompt = (): string => 'Q: 2+2?\nA:';
    await withEndpoint(
      { script: () => textAnswer('4'), api: 'completions', renderPrompt },
      async (completer, { seen }) => {
        await completer.complete(REQUEST);

        expect(seen[0]?.body).toMatchObject({ prompt: 'Q: 2+2?\nA:', stop: ['END'] });
      },
    );
  });

  test.each(['', '/'])('paths are appended to the URL as given, ending in "%s"', async (end) => {
    const server = await startScriptedServer(() => chatAnswer('4'));
    const url = `${server.url.replace('/v1', '/proxy/openai/v1')}${end}`;
    const completer = openEndpoint({ url, model: 'm', api: 'chat', concurrency: 1 });
    await completer.complete(REQUEST);
    await completer.close();
    await server.close();

    expect(server.seen[0]?.url).toBe('/proxy/openai/v1/chat/completions');
  });

  test('a server that wants max_completion_tokens is asked so from then on', async () => {
    const script: Script = ({ body }) =>
      'max_tokens' in body
        ? {
            status: 400,
            body: {
              error: {
                message:
                  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                code: 'unsupported_parameter',
              },
            },
          }
        : chatAnswer('4');
    await withEndpoint({ script }, async (completer, { seen }) => {
      await completer.complete(REQUEST);
      await completer.complete(REQUEST);

      expect(seen.map(({ body }) => [body['max_tokens'], body['max_completion_tokens']])).toEqual([
        [16, undefined],
        [undefined, 16],
        [undefined, 16],
      ]);
    });
  });
});

describe('capacity', () => {
  test('never more than the concurrency is in flight, in order of arrival, for all who share the endpoint', async () => {
    const server = await startScriptedServer(() => ({ ...chatAnswer('4'), delayMs: 10 }));
    const open = (): Completer => openEndpoint({ url: server.url, model: 'm', api: 'chat', concurrency: 4 });
    const [first, second] = [open(), open()];
    const ask = (completer: Completer, index: number): Promise<unknown> =>
      completer.complete({ ...REQUEST, messages: [{ role: 'user', content: String(index) }] });
    await Promise.all(Array.from({ length: 20 }, (_, index) => ask(index % 2 === 0 ? first : second, index)));
    await first.close();
    await second.close();
    await server.close();

    expect(server.maxInFlight).toBe(4);
    const arrived = server.seen.map(({ body }) =>
      Number((body['messages'] as { content: string }[])[0]?.content),
    );
    // Four connections may be overtaken by one another on their way, and no more than that.
    expect(arrived.every((index, place) => Math.abs(index - place) < 4)).toBe(true);
  });

  test('refusals fail nobody, and fewer are in flight after them', async () => {
    let inFlight = 0;
    const script: Script = async () => {
      inFlight += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
      const isFull = inFlight > 3;
      inFlight -= 1;
      if (!isFull) return chatAnswer('4');
      return { status: 429, headers: { 'retry-after-ms': '60' }, body: { error: { message: 'slow down' } } };
    };
    await withEndpoint({ script, concurrency: 16 }, async (completer, server) => {
      expect(await completeAll(completer, 40)).toHaveLength(40);

      // Without halving every round would refuse 13 of 16.
      expect(server.seen.length).toBeLessThan(40 + 4 * 16);
    });
  });

  test('nothing is sent before the wait that a refusal asks for is over', async () => {
    let refusedAt = 0;
    let nextAt = 0;
    const script: Script = ({ index }) => {
      if (index > 0) nextAt ||= performance.now();
      else refusedAt = performance.now();
      const refusal = { status: 429, headers: { 'retry-after': '0.4' }, body: 'slow down' };
      return index > 0 ? chatAnswer('4') : refusal;
    };
    await withEndpoint({ script, concurrency: 1 }, async (completer) => {
      await completeAll(completer, 3);

      // Timers may fire a millisecond early.
      expect(nextAt - refusedAt).toBeGreaterThanOrEqual(398);
    });
  });

  test('a 503 that names a wait, and a refusal inside of an answer, are waited out too', async () => {
    const answers: ServerAnswer[] = [
      { status: 503, headers: { 'retry-after': '0.1' }, body: 'overloaded' },
      { body: { error: { code: 429, message: 'upstream is full' } } },
    ];
    await withEndpoint(
      { script: ({ index }) => answers[index] ?? chatAnswer('4'), patienceMs: 1 },
      async (completer, { seen }) => {
        await completer.complete(REQUEST);

        expect(seen).toHaveLength(3);
      },
    );
  });

  test('a queued request ends at once when aborted, and is never sent', async () => {
    await withEndpoint(
      { script: () => ({ ...chatAnswer('4'), delayMs: 200 }), concurrency: 1 },
      async (completer, { seen }) => {
        const first = completer.complete(REQUEST);
        const controller = new AbortController();
        const queued = completer.complete(REQUEST, { signal: controller.signal });
        controller.abort(new Error('enough'));

        await expect(queued).rejects.toThrow('enough');
        await first;
        expect(seen).toHaveLength(1);
      },
    );
  });

  test('time in the queue does not count against the time allowed', async () => {
    await withEndpoint(
      { script: () => ({ ...chatAnswer('4'), delayMs: 600 }), concurrency: 1, timeoutMs: 2500 },
      async (completer) => {
        expect(await completeAll(completer, 5)).toHaveLength(5);
      },
    );
  });
});

describe('failures', () => {
  test('a broken connection and a server error are tried again', async () => {
    const answers: ServerAnswer[] = [{ isBroken: true }, { status: 502, body: 'bad gateway' }];
    await withEndpoint(
      { script: ({ index }) => answers[index] ?? chatAnswer('4') },
      async (completer, { seen }) => {
        expect((await completer.complete(REQUEST)).message.content).toBe('4');
        expect(seen).toHaveLength(3);
      },
    );
  });

  test('nobody there is `unreachable` after patience', async () => {
    const url = await deadUrl();
    const completer = openEndpoint({ url, model: 'm', api: 'chat', concurrency: 2, patienceMs: 300 });
    const failures = await Promise.allSettled(Array.from({ length: 6 }, () => completer.complete(REQUEST)));
    await completer.close();

    for (const failure of failures) {
      expect(failure).toMatchObject({ reason: { code: 'unreachable', retryable: true } });
    }
  });

  test('who comes after an outage that used up the patience of others makes one attempt and a small request', async () => {
    await withEndpoint(
      { script: () => ({ status: 502, body: 'bad gateway' }), patienceMs: 2_000 },
      async (completer, { seen }) => {
        await expect(completer.complete(REQUEST)).rejects.toMatchObject({ code: 'unreachable' });
        const seenBefore = seen.length;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        await expect(completer.complete(REQUEST)).rejects.toMatchObject({ code: 'unreachable' });

        expect(seenBefore).toBeGreaterThan(1);
        const since = seen.slice(seenBefore).map(({ body }) => body['max_tokens']);
        expect(since).toEqual([REQUEST.params.maxTokens, 1]);
      },
    );
  });

  test('the connection of a request that ran out of time is really closed', async () => {
    let isGone = false;
    const script: Script = ({ gone }) => {
      void gone.then(() => {
        isGone = true;
      });
      return { ...chatAnswer('4'), delayMs: 5_000 };
    };
    await withEndpoint({ script, timeoutMs: 80 }, async (completer) => {
      await expect(completer.complete(REQUEST)).rejects.toMatchObject({ code: 'timed-out' });
      await new Promise((resolve) => setTimeout(resolve, 50));

      expect(isGone).toBe(true);
    });
  });

  test.each([
    [
      401,
      { error: { message: 'Incorrect API key provided: sk-abcdef123456' } },
      'unauthorized',
      'OPENAI_API_KEY',
    ],
    [403, 'forbidden', 'unauthorized', 'OPENAI_API_KEY'],
    [402, { error: { message: 'Insufficient credits' } }, 'payment-required', 'Insufficient credits'],
    [429, { error: { message: 'no', code: 'insufficient_quota' } }, 'payment-required', 'Add credit'],
    [429, { error: { message: 'Request too large for m on tokens per min' } }, 'request-failed', 'too large'],
    [404, { error: { message: 'no such model' } }, 'request-failed', '"m" is served there'],
    [422, { detail: 'temperature must be positive' }, 'request-failed', 'temperature must be positive'],
    [
      400,
      { error: { message: 'the request exceeds the available context size' } },
      'context-overflow',
      'maxTokens',
    ],
    [500, { error: { message: 'context size exceeded' } }, 'context-overflow', 'maxTokens'],
    [200, { choices: [] }, 'request-failed', 'without a choice'],
    [308, '', 'request-failed', 'answers 308'],
  ])('%i %j is `%s` and is not tried again', async (status, body, code, words) => {
    await withEndpoint(
      { script: () => ({ status, body }), apiKey: 'my-own-key' },
      async (completer, { seen }) => {
        const error = await completer.complete(REQUEST).catch((failure: unknown) => failure);

        expect(error).toMatchObject({ name: 'DomainError', code });
        expect((error as DomainError).message).toContain(words);
        expect((error as DomainError).message).not.toMatch(/sk-abc|my-own-key/);
        expect(seen).toHaveLength(1);
      },
    );
  });

  test('the words of a server are cut and hold no key', async () => {
    const message = `bad key my-own-key ${'x'.repeat(5_000)}`;
    await withEndpoint(
      { script: () => ({ status: 400, body: { error: { message } } }), apiKey: 'my-own-key' },
      async (completer) => {
        const error = await completer.complete(REQUEST).catch((failure: unknown) => failure);

        expect(error).toMatchObject({ code: 'request-failed', category: 'user' });
        expect((error as DomainError).message.length).toBeLessThan(650);
        expect((error as DomainError).message).not.toContain('my-own-key');
      },
    );
  });

  test('an answer without end is given up', async () => {
    await withEndpoint({ script: () => ({ body: Buffer.alloc(33 * 2 ** 20, 32) }) }, async (completer) => {
      await expect(completer.complete(REQUEST)).rejects.toMatchObject({
        code: 'request-failed',
        category: 'server',
      });
    });
  });

  test('whatever JSON comes back, there is a completion or a DomainError', async () => {
    let body: unknown = {};
    await withEndpoint(
      { script: () => ({ body: JSON.stringify(body) }), patienceMs: 0 },
      async (chat, server) => {
        const text = openEndpoint({
          url: server.url,
          model: 'm',
          api: 'completions',
          concurrency: 1,
          patienceMs: 0,
        });
        const nearly = fc.record({
          choices: fc.array(
            fc.oneof(fc.jsonValue(), fc.record({ message: nearlyMessage(), text: fc.jsonValue() })),
          ),
          usage: fc.jsonValue(),
        });
        await fc.assert(
          fc.asyncProperty(
            fc.oneof(fc.jsonValue(), nearly),
            fc.constantFrom(chat, text),
            async (json, completer) => {
              // A refusal for lack of capacity would be waited out.
              fc.pre(!JSON.stringify(json).includes('"error"'));
              body = json;
              const outcome: unknown = await completer.complete(REQUEST).catch((error: unknown) => error);
              const isNamed = (outcome as Error).name === 'DomainError';
              expect(isNamed || typeof (outcome as { rawText: unknown }).rawText === 'string').toBe(true);
            },
          ),
          { numRuns: 300 },
        );
        await text.close();
      },
    );
  });
});

function nearlyMessage(): fc.Arbitrary<unknown> {
  return fc.record(
    {
      content: fc.oneof(fc.string(), fc.jsonValue(), fc.array(fc.record({ text: fc.string() }))),
      reasoning_content: fc.oneof(fc.string(), fc.jsonValue()),
      tool_calls: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record({
            id: fc.jsonValue(),
            function: fc.record({ name: fc.string(), arguments: fc.jsonValue() }),
          }),
        ),
      ),
    },
    { requiredKeys: [] },
  );
}
