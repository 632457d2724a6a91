import { probeEndpoint } from '../../src/engines/openai/probe-endpoint';
import type { ServerAnswer } from './completer-server';
import { deadUrl, startScriptedServer } from './completer-server';

const LIST = {
  body: { object: 'list', data: [{ id: 'Qwen/Qwen3-8B' }, { id: 'Qwen/Qwen3-32B' }, { id: 'other' }] },
};

async function probe(
  answer: (url: string) => ServerAnswer,
  { model = 'Qwen/Qwen3-8B', path = '/v1' } = {},
): Promise<unknown> {
  const server = await startScriptedServer(({ url }) => answer(url));
  try {
    const url = server.url.replace('/v1', path);
    return await probeEndpoint({ url, model, apiKey: 'my-own-key', timeoutMs: 300 });
  } catch (error) {
    return error;
  } finally {
    await server.close();
  }
}

test('a model that is served is found in the list', async () => {
  expect(await probe(() => LIST)).toEqual({ models: ['Qwen/Qwen3-8B', 'Qwen/Qwen3-32B', 'other'] });
});

test('a list by itself, as Together writes it, is read as well', async () => {
  expect(await probe(() => ({ body: LIST.body.data }))).toEqual({
    models: ['Qwen/Qwen3-8B', 'Qwen/Qwen3-32B', 'other'],
  });
});

test.each(['llama3', 'gemini-2'])('%s is served under its longer name', async (model) => {
  const answer = { body: { data: [{ id: 'llama3:latest' }, { id: 'models/gemini-2' }] } };

  expect(await probe(() => answer, { model })).toHaveProperty('models');
});

test('a model that is not served is answered with the nearest names first', async () => {
  expect(await probe(() => LIST, { model: 'qwen3-32b' })).toMatchObject({
    code: 'unknown-model',
    message: expect.stringContaining(
      'does not serve "qwen3-32b". It serves Qwen/Qwen3-32B, Qwen/Qwen3-8B',
    ) as string,
  });
});

test('a URL without the version is answered with the right one', async () => {
  const answer = (url: string): ServerAnswer =>
    url === '/v1/models' ? LIST : { status: 404, body: 'Not Found' };

  expect(await probe(answer, { path: '' })).toMatchObject({
    code: 'request-failed',
    message: expect.stringMatching(/Give http:\/\/127\.0\.0\.1:\d+\/v1 as the endpoint's URL/) as string,
  });
});

test('a wrong path is answered with what belongs there', async () => {
  expect(await probe(() => ({ status: 404 }), { path: '/api' })).toMatchObject({
    code: 'request-failed',
    message: expect.stringContaining('most end in /v1') as string,
  });
});

test('a server below /v1 that lists no models is there', async () => {
  expect(await probe(() => ({ status: 404 }))).toEqual({ models: null });
});

test.each([401, 403])('%i names the variable of the key and where it is needed', async (status) => {
  const error = await probe(() => ({ status, body: { error: { message: 'bad key my-own-key' } } }));

  expect(error).toMatchObject({
    code: 'unauthorized',
    message: expect.stringMatching(/OPENAI_API_KEY must be set.*where the workers run/) as string,
  });
  expect((error as Error).message).not.toContain('my-own-key');
});

const PAGE: ServerAnswer = { body: '<!doctype html>\n<html><body>Sign in</body></html>' };

test('a page in place of the list is a mistake that says so', async () => {
  expect(await probe(() => PAGE)).toMatchObject({
    code: 'request-failed',
    category: 'user',
    message: expect.stringMatching(
      /^http:\S+\/v1\/models answers with a web page \(HTML\) and not with a list of models, .*\. Give the URL that \/chat\/completions is appended to/,
    ) as string,
  });
});

test('a page above the list is answered with the address of the list', async () => {
  const answer = (url: string): ServerAnswer => (url === '/v1/models' ? LIST : PAGE);

  expect(await probe(answer, { path: '' })).toMatchObject({
    category: 'user',
    message: expect.stringMatching(
      /\d+\/v1 has a list of models: give it as the endpoint's URL\.$/,
    ) as string,
  });
});

test('a page at every address names none', async () => {
  expect(await probe(() => PAGE, { path: '' })).toMatchObject({
    message: expect.stringContaining('most end in /v1.') as string,
  });
});

test('what is no list of models and no page is an error that says so', async () => {
  expect(await probe(() => ({ body: 'ok' }))).toMatchObject({
    code: 'request-failed',
    message: expect.stringContaining("Check the endpoint's URL") as string,
  });
});

test('a server that keeps silent is unreachable', async () => {
  expect(await probe(() => ({ ...LIST, delayMs: 5_000 }))).toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('no answer within 0.3 s') as string,
  });
});

test('a port where nobody listens is unreachable', async () => {
  await expect(probeEndpoint({ url: await deadUrl(), model: 'm' })).rejects.toMatchObject({
    code: 'unreachable',
    retryable: true,
    message: expect.stringContaining('ECONNREFUSED') as string,
  });
});

test.each(['localhost:8000', 'ftp://host', 'nonsense', 'https://user:password@host/v1'])(
  '"%s" is refused',
  async (url) => {
    await expect(probeEndpoint({ url, model: 'm' })).rejects.toMatchObject({ code: 'bad-config' });
  },
);
