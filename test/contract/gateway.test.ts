import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { LocalEngine } from '../../src/engines/local/engine';
import { startLocalEngine } from '../../src/engines/local/engine';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import type { ModelRuntime } from '../../src/engines/local/model-runtime';
import { createTinkerClient } from '../../src/engines/tinker/client';
import { tokenizerOf } from '../../src/renderers/model-tokenizer';
import { ChatAnswer, ChatChunk } from '../../src/server/gateway/chat-schemas';
import { CompletionAnswer } from '../../src/server/gateway/completion-schemas';
import { ErrorBody } from '../../src/server/http/error-body';
import type { TestServer } from '../unit/server/serving';
import { readEvents, startServer, writeRun } from '../unit/server/serving';
import { z } from 'zod';

/** The gateway on the real engine and the model that ships with Everstep, spoken to over HTTP. */

const MODEL = 'everstep/tiny';
const MESSAGES = [{ role: 'user', content: '12+34=' }];

let runtime: ModelRuntime;
let engine: LocalEngine;
let server: TestServer;
let folder: string;
let samplerPath: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-gateway-'));
  runtime = await createModelRuntime({ threads: 1 });
  engine = await startLocalEngine({
    port: 0,
    dataFolder: folder,
    runtime,
    logger: pino({ level: 'silent' }),
  });
  samplerPath = await saveWeights();
  server = await startServer({ gateway: gatewayOptions() });
  await writeRun(server.store, 'trained');
  const checkpoints = await server.store.openJournal('trained', 'checkpoints', { epoch: 1 });
  for (const step of [10, 20]) {
    checkpoints.append({
      ...{ name: String(step), step, batch: step, epoch: 0, final: false, elapsed_tokens: 0 },
      ...{ state_path: null, sampler_path: samplerPath, lineage: 0, incarnation: 0 },
    });
  }
  await checkpoints.close();
});

afterAll(async () => {
  await server.close();
  await engine.close();
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
});

function gatewayOptions(limits?: { running: number; waiting: number }) {
  return {
    engine: {
      defaultUrl: () => engine.url,
      fixedUrl: null,
      tokenizerOf: (model: string) => tokenizerOf(model, { cacheFolder: folder }),
    },
    ...(limits && { limits }),
  };
}

/** A checkpoint that stays when the model that wrote it has gone. */
async function saveWeights(): Promise<string> {
  const client = createTinkerClient({ baseUrl: engine.url });
  const sessionId = await client.createSession({ tags: ['gateway'] });
  const spec = { sessionId, modelSeqId: 0, baseModel: MODEL, lora: { rank: 4, seed: 1 } };
  const { modelId } = await client.createModel(spec);
  const saved = await fetch(`${engine.url}/api/v1/save_weights_for_sampler`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model_id: modelId,
      path: 'kept',
      seq_id: 1,
      type: 'save_weights_for_sampler',
    }),
  });
  const { request_id } = (await saved.json()) as { request_id: string };
  const future = await fetch(`${engine.url}/api/v1/retrieve_future`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ request_id }),
  });
  const { path: address } = (await future.json()) as { path: string };
  await client.close();
  return address;
}

async function post(address: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server.url}${address}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

async function chat(more: object = {}): Promise<ChatAnswer> {
  const reply = await post('/v1/chat/completions', {
    model: MODEL,
    messages: MESSAGES,
    max_tokens: 12,
    ...more,
  });
  const body: unknown = await reply.json();
  expect({ status: reply.status, body }).toMatchObject({ status: 200 });
  return ChatAnswer.strict().parse(body);
}

async function complete(more: object = {}): Promise<CompletionAnswer> {
  const reply = await post('/v1/completions', {
    model: MODEL,
    prompt: '<|bos|><|user|>1+1',
    max_tokens: 6,
    ...more,
  });
  const body: unknown = await reply.json();
  expect({ status: reply.status, body }).toMatchObject({ status: 200 });
  return CompletionAnswer.strict().parse(body);
}

const Counted = z.object({ usage: z.object({ prompt_tokens: z.number() }) });

async function refusal(address: string, body: object) {
  const reply = await post(address, body);
  return { status: reply.status, ...ErrorBody.parse(await reply.json()).error };
}

/** Chunks of a stream that ends as OpenAI's do. */
async function stream(address: string, body: object): Promise<unknown[]> {
  const reply = await post(address, { ...body, stream: true });
  expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
  if (!reply.body) throw new Error('no body');
  const data: string[] = [];
  for await (const event of readEvents(reply.body)) {
    expect(event.event).toBe('message');
    data.push(event.data);
  }
  expect(data.pop()).toBe('[DONE]');
  return data.map((text) => JSON.parse(text) as unknown);
}

test('lists what can be asked, and describes each', async () => {
  const list = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] };

  expect(list.data.map(({ id }) => id)).toEqual([MODEL, 'trained', 'trained@10', 'trained@20']);
  for (const listed of list.data) {
    const one = (await (await fetch(`${server.url}/v1/models/${listed.id}`)).json()) as object;
    expect(one).toEqual(listed);
  }
  for (const id of ['trained@11', 'nope', 'no/model'])
    expect((await fetch(`${server.url}/v1/models/${id}`)).status).toBe(404);
});

test('continues a conversation, the same way for the same seed, whatever else is asked meanwhile', async () => {
  const alone = await chat({ seed: 7, temperature: 1 });
  const crowd = await Promise.all(
    Array.from({ length: 40 }, (_, index) => chat({ seed: index, temperature: 1 })),
  );

  expect(alone.choices).toHaveLength(1);
  expect(alone.choices[0]?.message.role).toBe('assistant');
  expect(crowd[7]?.choices).toEqual(alone.choices);
  expect(new Set(crowd.map(({ choices }) => choices[0]?.message.content)).size).toBeGreaterThan(1);
});

test('counts every token that was drawn', async () => {
  const { usage, choices } = await chat({ n: 3, seed: 1, logprobs: true });

  const named = choices.map(({ logprobs }) => logprobs?.content?.length ?? 0);
  const stops = choices.filter(({ finish_reason }) => finish_reason === 'stop').length;
  expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(usage.completion_tokens).toBe(named.reduce((sum, count) => sum + count, stops));
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
});

test('gives log-probabilities that a scored prompt agrees with', async () => {
  const { choices } = await complete({ temperature: 0, logprobs: 2 });
  const text = choices[0]?.text ?? '';
  const drawn = choices[0]?.logprobs;

  const echoed = await complete({
    prompt: `<|bos|><|user|>1+1${text}`,
    max_tokens: 0,
    echo: true,
    logprobs: 2,
  });

  const scores = echoed.choices[0]?.logprobs;
  if (!drawn || !scores) throw new Error('no log-probabilities');
  expect(drawn.tokens.length).toBeGreaterThan(0);
  expect(echoed.choices[0]?.text).toBe(`<|bos|><|user|>1+1${text}`);
  expect(echoed.usage?.completion_tokens).toBe(0);
  expect(scores.token_logprobs[0]).toBeNull();
  scores.token_logprobs.slice(-drawn.tokens.length).forEach((logprob, index) => {
    expect(logprob).toBeCloseTo(drawn.token_logprobs[index] ?? NaN, 3);
  });
  expect(scores.tokens.join('')).toBe(`<|bos|><|user|>1+1${text}`);
  expect(scores.text_offset.at(-1)).toBe(scores.tokens.slice(0, -1).join('').length);
});

test('names the likeliest tokens, the one that was taken first among them where it is greedy', async () => {
  const { choices } = await chat({ temperature: 0, logprobs: true, top_logprobs: 3 });

  for (const { token, logprob, top_logprobs: top } of choices[0]?.logprobs?.content ?? []) {
    expect(top).toHaveLength(3);
    expect(top[0]).toMatchObject({ token, logprob });
  }
});

test('ends before a stop text, which is no part of the answer', async () => {
  const whole = await complete({ temperature: 0, max_tokens: 20 });
  const text = whole.choices[0]?.text ?? '';
  const stop = text.slice(3, 5);

  const { choices } = await complete({ temperature: 0, max_tokens: 20, stop: ['never this', stop] });

  expect(choices[0]).toMatchObject({ text: text.slice(0, text.indexOf(stop)), finish_reason: 'stop' });
});

test('takes prompts as texts and as tokens, one or several', async () => {
  const tokenizer = await tokenizerOf(MODEL, { cacheFolder: folder });
  const texts = ['<|bos|><|user|>1+1', '<|bos|><|user|>9+9'];
  const tokens = texts.map((text) => tokenizer.encode(text, { allowSpecial: true }));

  const options = { temperature: 0, n: 2 };
  const fromTexts = await complete({ prompt: texts, ...options });
  const fromTokens = await complete({ prompt: tokens, ...options });
  const fromOne = await complete({ prompt: tokens[0], ...options });

  expect(fromTexts.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  expect(fromTokens.choices).toEqual(fromTexts.choices);
  expect(fromOne.choices).toEqual(fromTexts.choices.slice(0, 2));
  expect(fromTexts.usage?.prompt_tokens).toBe(tokens.flat().length);
});

test('streams a conversation whose pieces make the same answer', async () => {
  const body = { model: MODEL, messages: MESSAGES, max_tokens: 12, n: 2, seed: 3, logprobs: true };
  const whole = await chat(body);

  const chunks = (
    await stream('/v1/chat/completions', { ...body, stream_options: { include_usage: true } })
  ).map((chunk) => ChatChunk.strict().parse(chunk));

  for (const { index, message, finish_reason, logprobs } of whole.choices) {
    const mine = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
    expect(mine[0]?.delta.role).toBe('assistant');
    expect(mine.map(({ delta }) => delta.content ?? '').join('')).toBe(message.content);
    expect(mine.map((choice) => choice.finish_reason).filter(Boolean)).toEqual([finish_reason]);
    expect(mine.flatMap((choice) => choice.logprobs?.content ?? [])).toEqual(logprobs?.content);
  }
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
});

test('streams texts', async () => {
  const body = { model: MODEL, prompt: ['a', '<|bos|><|user|>2+2'], max_tokens: 4, temperature: 0 };
  const whole = await complete(body);

  const chunks = (await stream('/v1/completions', body)).map((chunk) =>
    CompletionAnswer.strict().parse(chunk),
  );

  expect(chunks.flatMap(({ choices }) => choices)).toEqual(whole.choices);
});

test('asks a checkpoint by its run, its step or its address, and says which it was', async () => {
  const options = { temperature: 0, max_tokens: 6 };
  const byStep = await chat({ model: 'trained@10', ...options });
  const newest = await chat({ model: 'trained', ...options });
  const byAddress = await chat({ model: samplerPath, ...options });
  const named = await chat({ model: `${MODEL}=${samplerPath}`, ...options });

  expect([byStep.model, newest.model, byAddress.model]).toEqual(['trained@10', 'trained@20', samplerPath]);
  for (const answer of [newest, byAddress, named]) expect(answer.choices).toEqual(byStep.choices);
});

test('declares tools in the format of the model', async () => {
  const messages = [{ role: 'user', content: '2+2=' }];
  const named = (name: string) => [{ type: 'function', function: { name } }];
  const promptTokens = async (more: object) => {
    const reply = await post('/v1/chat/completions', { model: MODEL, messages, max_tokens: 1, ...more });
    expect(reply.status).toBe(200);
    return Counted.parse(await reply.json()).usage.prompt_tokens;
  };

  const [none, short, long] = [
    await promptTokens({}),
    await promptTokens({ tools: named('f') }),
    await promptTokens({ tools: named('find') }),
  ];

  expect(short).toBeGreaterThan(none);
  expect(long - short).toBe('find'.length - 'f'.length);
});

describe('refuses', () => {
  const CHAT = '/v1/chat/completions';
  const base = { model: MODEL, messages: MESSAGES };

  test.each([
    ['a model nobody has', { model: 'no/such' }, 404, 'model_not_found'],
    ['a step nobody kept', { model: 'trained@11' }, 404, 'model_not_found'],
    ['a run without a best one', { model: 'trained@best' }, 404, 'model_not_found'],
    ['an address that is none', { model: 'tinker://x' }, 400, 'bad-config'],
    [
      'a checkpoint that is gone',
      { model: 'tinker://gone:train:0/sampler_weights/x' },
      404,
      'model_not_found',
    ],
    [
      'a prompt that is too long',
      { messages: [{ role: 'user', content: 'a'.repeat(300) }] },
      400,
      'context_length_exceeded',
    ],
    ['a temperature out of range', { temperature: 9 }, 400, null],
    ['top_logprobs without logprobs', { top_logprobs: 2 }, 400, null],
    ['no tokens', { max_tokens: 0 }, 400, null],
    ['what it does not know', { wat: 1 }, 400, 'unknown_parameter'],
  ])('%s', async (_what, more, status, code) => {
    expect(await refusal(CHAT, { ...base, ...more })).toMatchObject({ status, code });
  });

  test.each([
    ['a message', CHAT, { messages: [{ role: 'user', content: 'a'.repeat(3_500_000) }] }],
    ['a prompt', '/v1/completions', { prompt: 'a'.repeat(3_500_000), messages: undefined }],
  ])('%s of megabytes, told to be too long without turning it into tokens', async (_what, address, more) => {
    const reply = await post(address, { ...base, ...more });

    expect(reply.status).toBe(400);
    expect(ErrorBody.parse(await reply.json()).error).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/at least \d+ tokens/) as string,
    });
  });

  test.each([
    ['an empty prompt', { prompt: '' }],
    ['a token that is none', { prompt: [1, 999_999] }],
    ['best of more than it gives', { prompt: 'a', best_of: 3 }],
    ['no tokens without echo', { prompt: 'a', max_tokens: 0 }],
  ])('%s', async (_what, more) => {
    expect(await refusal('/v1/completions', { model: MODEL, ...more })).toMatchObject({ status: 400 });
  });

  test('what it cannot get to, and says when to come back', async () => {
    const lonely = await startServer();
    const reply = await fetch(`${lonely.url}${CHAT}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(base),
    });
    await lonely.close();

    expect(reply.status).toBe(503);
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

test('a stream that fails on its way says why, and ends', async () => {
  const gone = await post('/v1/chat/completions', {
    ...{ model: `${MODEL}=tinker://gone:train:0/sampler_weights/x`, messages: MESSAGES, stream: true },
  });
  if (!gone.body) throw new Error('no body');
  const events = [];
  for await (const event of readEvents(gone.body)) events.push(event.data);

  expect(ErrorBody.parse(JSON.parse(events.at(-1) ?? '')).error.message).toContain('tinker://gone:train:0');
});

test('sends those away whom it cannot serve, serves the others, and forgets those who left', async () => {
  const narrow = await startServer({ gateway: gatewayOptions({ running: 1, waiting: 1 }) });
  const ask = (signal?: AbortSignal) =>
    fetch(`${narrow.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, prompt: '<|bos|>', max_tokens: 200, n: 8 }),
      ...(signal && { signal }),
    });
  const leaving = new AbortController();

  const first = ask(leaving.signal).catch(() => null);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const others = Array.from({ length: 6 }, () => ask());
  leaving.abort();
  const replies = await Promise.all(others);
  await first;
  const after = await ask();
  await narrow.close();

  const statuses = replies.map(({ status }) => status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
  const away = replies.find(({ status }) => status === 429);
  expect(away?.headers.get('retry-after')).toBe('1');
  expect(after.status).toBe(200);
});

test.each([0, 20, 100])('what nobody waits for after %i ms is not drawn to its end', async (delayMs) => {
  const tokensSampled = async () => {
    const text = await (await fetch(`${engine.url}/metrics`)).text();
    return Number(/^everstep_engine_tokens_sampled_total (\d+)$/m.exec(text)?.[1]);
  };
  const client = createTinkerClient({ baseUrl: engine.url });
  const sampler = client.createSampler({ baseModel: MODEL, isCancelledWithSignal: true });
  const params = { maxTokens: 250, temperature: 1, topP: 1, topK: -1, stop: [] };
  const draw = (numSamples: number, signal?: AbortSignal) =>
    sampler.sample({ prompt: [5, 6], numSamples, params }, { ...(signal && { signal }) });
  await draw(1);
  const before = await tokensSampled();
  const leaving = new AbortController();

  const asked = Array.from({ length: 24 }, () => draw(128, leaving.signal).catch(() => null));
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  leaving.abort();
  await Promise.all(asked);
  // Draws take turns: when this one is done, those before it are over in one way or the other.
  await draw(1);
  await sampler.close();
  await client.close();

  expect((await tokensSampled()) - before).toBeLessThan(24 * 128 * 250 * 0.8);
});

test('a text ends at the end of the model with and without stop texts', async () => {
  const free = await complete({ prompt: 'a', max_tokens: 100, temperature: 0 });
  const stopped = await complete({ prompt: 'a', max_tokens: 100, temperature: 0, stop: 'never this' });

  expect(free.choices[0]?.finish_reason).toBe('stop');
  expect(stopped.choices).toEqual(free.choices);
});

test('serves hundreds at once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, seed) => complete({ prompt: '<|bos|><|user|>', max_tokens: 2, seed })),
  );

  expect(answers).toHaveLength(300);
});
