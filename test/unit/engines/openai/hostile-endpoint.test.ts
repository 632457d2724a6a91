import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openEndpoint } from '../../../../src/engines/openai/open-endpoint';

const KEY = 'azure-less-0123456789abcdef';

type Behaviour = (response: ServerResponse) => void;

/** For what only time ends. All else ends by itself, later on a machine that is busy. */
const SHORT_MS = 600;
const LONG_MS = 40_000;

async function asked(behave: Behaviour, timeoutMs = LONG_MS): Promise<unknown> {
  const server: Server = createServer((_, response) => {
    behave(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port of its own has such an address.
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/v1`;
  const completer = openEndpoint({
    ...{ url, model: 'm', api: 'chat', concurrency: 1, patienceMs: 0, apiKey: KEY },
  });
  try {
    return await completer
      .complete(
        { messages: [{ role: 'user', content: '2+2?' }], params: { maxTokens: 16, temperature: 0, topP: 1 } },
        { timeoutMs },
      )
      .catch((error: unknown) => error);
  } finally {
    await completer.close();
    server.closeAllConnections();
    server.close();
  }
}

function sends(body: unknown, status = 200, headers: Record<string, string> = {}): Behaviour {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

const choice = (message: unknown) => ({ choices: [{ message, finish_reason: 'stop' }] });

const repeatedly =
  (chunk: string, everyMs: number): Behaviour =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(chunk), everyMs);
    response.once('close', () => {
      clearInterval(timer);
    });
  };

/** As long as nobody is given more, the endpoint is away. */
const NO_OBJECT = {
  code: 'unreachable',
  message: expect.stringContaining('an answer that is no JSON object') as string,
};

test.each<[string, Behaviour, { readonly code: string; readonly message?: string }]>([
  ['an answer that never ends', repeatedly(' '.repeat(1 << 18), 1), { code: 'request-failed' }],
  ['events without end', repeatedly('data: {"choices":[]}\n\n'.repeat(9000), 1), { code: 'request-failed' }],
  ['one byte at a time', repeatedly(' ', 50), { code: 'timed-out' }],
  [
    'headers and then nothing',
    (response) => {
      response.writeHead(200).flushHeaders();
    },
    { code: 'timed-out' },
  ],
  [
    'an answer that is always broken off',
    (response) => {
      response.writeHead(200, { 'content-length': 999 });
      response.write('{"choices":', () => response.destroy());
    },
    { code: 'request-failed', message: expect.stringContaining('although it is up') as string },
  ],
  ['a list in place of an object', sends([]), NO_OBJECT],
  ['a page of a gateway', sends('<html>Be right back</html>'), NO_OBJECT],
  ['choices that are none', sends({ choices: 'x' }), { code: 'request-failed' }],
  ['a message that is a number', sends(choice(7)), { code: 'request-failed' }],
  [
    'an echo of what was asked',
    sends(choice({ role: 'user', content: '2+2?' })),
    { code: 'request-failed', message: expect.stringContaining('role is "user"') as string },
  ],
  ['nesting', sends(`${'['.repeat(200_000)}${']'.repeat(200_000)}`), NO_OBJECT],
  [
    'a redirect',
    sends('', 302, { location: 'http://127.0.0.1:1/other' }),
    { code: 'request-failed', message: expect.stringContaining('sends on to') as string },
  ],
])('%s is an error in bounded time', async (_, behave, expected) => {
  const error = await asked(behave, expected.code === 'timed-out' ? SHORT_MS : LONG_MS);

  expect(error).toMatchObject({ name: 'DomainError', ...expected });
});

test('no content is an empty answer', async () => {
  await expect(asked(sends(choice({ content: null })))).resolves.toMatchObject({ rawText: '' });
});

test('NUL and lone surrogates are kept as text that can be written and read again', async () => {
  const answer = await asked(
    sends('{"choices":[{"message":{"content":"a\\u0000b\\ud800c"},"finish_reason":"stop"}]}'),
  );

  expect(JSON.parse(JSON.stringify(answer))).toMatchObject({ rawText: 'a\u0000b\ud800c' });
});

test('fifty thousand tool calls are read in bounded time', async () => {
  const call = { function: { name: 'f', arguments: '{}' } };

  const answer = await asked(sends(choice({ content: '', tool_calls: Array(50_000).fill(call) })));

  expect(answer).toMatchObject({ message: { toolCalls: expect.anything() as unknown } });
});

test('a key that an answer repeats is hidden where the answer is cut, and where two parts of it come together', async () => {
  const page = await asked(sends(`${'p'.repeat(190)}${KEY}`));
  const parts = await asked(sends(choice({ content: [{ text: KEY.slice(0, 9) }, { text: KEY.slice(9) }] })));

  expect(page).toMatchObject({ message: expect.stringContaining('pp…') as string });
  expect(page).not.toMatchObject({ message: expect.stringContaining('azure') as string });
  expect(parts).toMatchObject({ message: { content: '…' }, rawText: '…' });
});
