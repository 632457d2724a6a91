import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import type { CanaryReport } from '../../../../src/core/canary';
import { tellWebhook } from '../../../../src/evaluation/canary/tell-webhook';

const REPORT: CanaryReport = {
  schedule: 'nightly',
  at: '2026-01-01T00:00:00Z',
  evalRun: 'nightly-20260101T000000Z',
  dir: '/store/evals/nightly-20260101T000000Z',
  alarm: true,
  scores: [
    {
      ...{ benchmark: 'sums', score: 0.5, stderr: 0.1, interval: [0.3, 0.7], numExamples: 20, numErrors: 0 },
      ...{ pinned: 1, difference: -0.5, method: 'paired', verdict: 'worse', reason: 'moved by -0.5' },
    },
  ],
};

let server: Server;
let status = 200;
let isTold = true;
const received: { readonly url: string; readonly headers: object; readonly body: string }[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ url: request.url ?? '', headers: request.headers, body });
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('ignored');
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  status = 200;
  isTold = true;
  received.length = 0;
});

const address = (path = '/hook') => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
const VALUES: Readonly<Record<string, string>> = {
  EVERSTEP_WEBHOOK_BROKEN: 'http://broken-secret:xx:99999/z',
  EVERSTEP_WEBHOOK_LINES: 'secret\r\nX-Other: 1',
  EVERSTEP_WEBHOOK_LETTERS: 'secret \u0416',
  EVERSTEP_WEBHOOK_TOKEN: 'secret',
  OPENAI_API_KEY: 'sk-other',
};
const tell = (
  url: string,
  headers: Readonly<Record<string, string>> = {},
  type: 'address' | 'variable' = 'address',
  report = REPORT,
) =>
  tellWebhook(
    { webhook: { url: { type, value: url }, headers }, report },
    {
      valueOf: (name) => ({ ...VALUES, EVERSTEP_WEBHOOK_URL: address('/secret-path') })[name],
      mayHave: () => isTold,
    },
    new AbortController().signal,
  );

test('posts the report with a line for people, and headers from the environment', async () => {
  await tell(address(), { 'X-Token': 'EVERSTEP_WEBHOOK_TOKEN' });

  expect(received).toHaveLength(1);
  expect(received[0]?.headers).toMatchObject({ 'x-token': 'secret', 'content-type': 'application/json' });
  expect(JSON.parse(received[0]?.body ?? '')).toEqual({
    ...REPORT,
    type: 'everstep.canary.alarm',
    text: 'Canary nightly alarms (2026-01-01T00:00:00Z).\nsums: moved by -0.5',
  });
});

test('values of headers go to no address that the worker was not told of', async () => {
  isTold = false;
  const failure = await tell(address(), { 'X-Token': 'EVERSTEP_WEBHOOK_TOKEN' }).catch(
    (error: unknown) => error,
  );

  expect(failure).toMatchObject({ code: 'refused', retryable: false });
  expect(String(failure)).toContain('EVERSTEP_KEY_ADDRESSES');
  expect(inspect(failure, { depth: 10 })).not.toContain('secret');
  expect(received).toEqual([]);

  await tell(address());
  await tell('EVERSTEP_WEBHOOK_URL', { 'X-Token': 'EVERSTEP_WEBHOOK_TOKEN' }, 'variable');
  expect(received.map(({ url }) => url)).toEqual(['/hook', '/secret-path']);
});

test('what an endpoint says calls nobody in a chat, and is in the fields as it was', async () => {
  const reason =
    'the endpoint answered 402: <!channel> <http://evil.example|click & see> \u001b[31mred\nsecond';
  const scores = REPORT.scores.map((score) => ({ ...score, benchmark: '<!channel>m', reason }));
  await tell(address(), {}, 'address', { ...REPORT, scores });

  const { text, ...fields } = JSON.parse(received[0]?.body ?? '') as { text: string };
  expect(text.split('\n').slice(1)).toEqual([
    String.raw`&lt;!channel&gt;m: the endpoint answered 402: &lt;!channel&gt; &lt;http://evil.example|click &amp; see&gt; \x1b[31mred\x0asecond`,
  ]);
  expect(fields).toMatchObject({ scores });
});

test('an address in the environment is used and never told', async () => {
  await tell('EVERSTEP_WEBHOOK_URL', {}, 'variable');
  status = 404;

  const failure = await tell('EVERSTEP_WEBHOOK_URL', {}, 'variable').catch((error: unknown) => String(error));

  expect(received[0]?.url).toBe('/secret-path');
  expect(failure).toContain('answered 404');
  expect(failure).not.toContain('secret-path');
});

test.each([
  [500, true],
  [429, true],
  [404, false],
  [302, false],
])('an answer of %s is tried again: %s', async (answer, retryable) => {
  status = answer;

  await expect(tell(address())).rejects.toMatchObject({ code: 'request-failed', retryable });
  expect(received.map(({ url }) => url)).toEqual(['/hook']);
});

test('an address in the environment that is none is refused once, and not told', async () => {
  const failure = await tell('EVERSTEP_WEBHOOK_BROKEN', {}, 'variable').catch((error: unknown) => error);

  expect(failure).toMatchObject({ code: 'bad-config', retryable: false });
  expect(inspect(failure, { depth: 10 })).not.toContain('broken-secret');
});

test.each([
  ['X-Token', 'EVERSTEP_WEBHOOK_LINES'],
  ['X-Token', 'EVERSTEP_WEBHOOK_LETTERS'],
  ['Host', 'EVERSTEP_WEBHOOK_TOKEN'],
  ['Content-Length', 'EVERSTEP_WEBHOOK_TOKEN'],
])('a header that cannot be sent is refused by name: %s from %s', async (name, variable) => {
  const failure = await tell(address(), { [name]: variable }).catch((error: unknown) => error);

  expect(failure).toMatchObject({ code: 'bad-config', retryable: false });
  expect(String(failure)).toContain(`The webhook's header ${name} cannot be sent`);
  expect(inspect(failure, { depth: 10 })).not.toContain('secret');
  expect(received).toEqual([]);
});

test('a host that is away is tried again', async () => {
  await expect(tell('http://127.0.0.1:9/hook')).rejects.toMatchObject({
    code: 'unreachable',
    retryable: true,
  });
});

test('no other secret of the worker can be sent', async () => {
  await expect(tell(address(), { 'X-Key': 'OPENAI_API_KEY' })).rejects.toMatchObject({ code: 'bad-config' });
  await expect(tell(address(), { 'X-Key': 'EVERSTEP_WEBHOOK_UNSET' })).rejects.toMatchObject({
    code: 'bad-config',
  });
  expect(received).toEqual([]);
});
