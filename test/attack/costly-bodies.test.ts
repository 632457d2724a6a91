import { ChatBody } from '../../src/server/gateway/chat-schemas';
import { CompletionBody } from '../../src/server/gateway/completion-schemas';
import type { TestEngine } from '../unit/engines/local/server/engine-driver';
import { startTestEngine } from '../unit/engines/local/server/engine-driver';
import type { TestServer } from '../unit/server/serving';
import { startServer } from '../unit/server/serving';

/** Bodies within the limits of their routes that would hold up everybody else while they are read. */

const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const many = (count: number, entry: string) => Array<string>(count).fill(entry).join();
const keys = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}":1`).join();

describe('serve', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.close());

  test.each([
    ['lists a million deep', `{"model":"m","messages":${deep(1_000_000)}}`, '1000001 deep in one another'],
    ['a few more lists than are taken', `{"model":"m","prompt":${deep(200)}}`, '200 deep'],
    ['many objects', `{"model":"m","messages":[${many(900_000, '{}')}]}`, 'holds 900002 lists and objects'],
    ['many keys', `{"model":"m",${keys(210_000)}}`, 'with 210001 keys'],
  ])('refuses %s by its text', async (_, body, message) => {
    const reply = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });

    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({
      error: { message: expect.stringContaining(message) as string, type: 'invalid_request_error' },
    });
  });

  test('refuses what would change a prototype, millions of numbers around it', async () => {
    const prompt = Array<number>(500_000).fill(1);
    const body = `{"model":"m","prompt":${JSON.stringify(prompt)},"a":{"constructor":{"prototype":{}}}}`;

    const reply = await fetch(`${server.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });

    expect(reply.status).toBe(400);
    expect(await reply.text()).toContain('is not valid JSON');
  });

  test.each([
    ['metadata', Array<string>(17).fill('v'), 'has 17 entries; at most 16 are taken'],
    ['metadata', ['v'.repeat(513)], 'expected string to have <=512 characters'],
    ['logit_bias', Array<number>(1025).fill(0), 'has 1025 entries; at most 1024 are taken'],
  ])('refuses more %s than OpenAI takes', (name, values, message) => {
    const { error } = ChatBody.safeParse({
      model: 'm',
      messages: [{ role: 'user', content: 'x' }],
      [name]: Object.fromEntries<string | number>(values.entries()),
    });

    expect(JSON.stringify(error?.issues)).toContain(message);
  });

  const toolsWith = (count: number) => {
    const names = Array.from({ length: count }, (_, index) => [`k${index}`, { enum: ['a'] }] as const);
    const tool = { name: 'f', parameters: { type: 'object', properties: Object.fromEntries(names) } };
    return { messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'function', function: tool }] };
  };

  test('refuses schemas of tools that are larger than models are given', () => {
    expect(ChatBody.safeParse({ model: 'm', ...toolsWith(6600) }).success).toBe(true);
    expect(JSON.stringify(ChatBody.safeParse({ model: 'm', ...toolsWith(6700) }).error?.issues)).toContain(
      'the schemas of the tools hold more than 20,000 keys and list entries. Declare fewer tools or simpler ones',
    );
  });

  const numbers = Array<number>(500).fill(-1);
  test.each([
    ['tokens', CompletionBody, { prompt: numbers }],
    ['lists of tokens', CompletionBody, { prompt: [numbers, numbers] }],
    ['biases', CompletionBody, { prompt: 'x', logit_bias: Object.fromEntries(numbers.entries()) }],
    ['metadata', CompletionBody, { prompt: 'x', metadata: Object.fromEntries(numbers.entries()) }],
    ['messages', ChatBody, { messages: numbers }],
    ['parts', ChatBody, { messages: numbers.map(() => ({ role: 'user', content: numbers })) }],
    ['calls', ChatBody, { messages: numbers.map(() => ({ role: 'assistant', tool_calls: numbers })) }],
  ])('tells one fault of many %s', (_, schema, body) => {
    const { error } = schema.safeParse({ model: 'm', ...body });

    expect(JSON.stringify(error?.issues).length).toBeLessThan(2000);
  });
});

describe('the engine', () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startTestEngine();
  });
  afterAll(() => engine.close());

  test.each([
    ['lists nearly a million deep', 'asample', `{"prompt":${deep(999_000)}}`, 'more than 64 deep'],
    ['many keys', 'create_session', `{"user_metadata":{${keys(210_000)}}}`, 'with 210001 keys'],
    ['many lists', 'create_session', `{"user_metadata":{"a":[${many(90_000, '[]')}]}}`, 'longer than 262144'],
    ['tags of another type', 'create_session', `{"tags":[${many(2000, '1')}]}`, 'to have <=1024 items'],
  ])('refuses %s and tells one fault', async (_, route, body, message) => {
    const reply = await engine.driver.post(route, body);

    expect(reply).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining(message) as string },
    });
    expect(reply.body.detail.length).toBeLessThan(200);
  });
});
