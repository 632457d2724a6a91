import { createModelRuntime } from '../../../../../src/engines/local/compute/create-model-runtime';
import { CHARACTERS, CONTEXT_LENGTH, RANDOM_MODEL, writeRandomModel } from './random-model';
import type { SampleRequest } from '../../../../../src/core/sampling';
import type { LoraConfig, ModelRuntime, SamplerModel } from '../../../../../src/engines/local/model-runtime';

const LORA: LoraConfig = { rank: 3, seed: 5, trainAttn: true, trainMlp: true, trainUnembed: true };
const modelsFolders = [writeRandomModel()];

function request(
  prompt: number[],
  more: Partial<SampleRequest['params']> = {},
  numSamples = 1,
): SampleRequest {
  return {
    prompt,
    numSamples,
    params: { maxTokens: 12, temperature: 1, topK: -1, topP: 1, seed: 3, stop: [], ...more },
  };
}

let runtime: ModelRuntime;
let sampler: SamplerModel;

beforeAll(async () => {
  runtime = await createModelRuntime({ threads: 2, modelsFolders, memoryMegabytes: 64 });
  sampler = await runtime.createSampler({ baseModel: RANDOM_MODEL, lora: null, weights: null });
});

afterAll(() => runtime.close());

test('gives the same sequences whatever else is being drawn', async () => {
  const alone = [];
  const requests = Array.from({ length: 20 }, (_, index) =>
    request(
      [1 + index, 2, 3 + (index % 5)].slice(0, 1 + (index % 3)),
      { seed: index, temperature: 0.5 + index / 10 },
      1 + (index % 3),
    ),
  );
  for (const each of requests) alone.push(await sampler.sample(each));

  const together = await Promise.all(requests.map((each) => sampler.sample(each)));

  expect(together).toEqual(alone);
});

test('draws the same whether the prompt goes ahead or travels with the first draw', async () => {
  const prompts = Array.from({ length: 30 }, (_, index) =>
    Array.from({ length: 1 + ((index * 7) % 45) }, (_unused, place) => 1 + ((index + place * 3) % 39)),
  );
  const draw = async (numSamples: number): Promise<unknown[]> =>
    Promise.all(
      prompts.map(async (prompt, seed) => {
        const { sequences } = await sampler.sample(request(prompt, { seed }, numSamples));
        return sequences[0];
      }),
    );

  expect(await draw(1)).toEqual(await draw(2));
});

test('draws each sample of a request from a stream of its own', async () => {
  const three = await sampler.sample(request([4, 5], {}, 3));
  const two = await sampler.sample(request([4, 5], {}, 2));

  expect(new Set(three.sequences.map(({ tokens }) => tokens.join())).size).toBe(3);
  expect(two.sequences).toEqual(three.sequences.slice(0, 2));
});

test.each([5e-324, 1e-45, 1e-38, 1e-37, 1e-30, 1e-20, 1e-10])(
  'takes the likeliest tokens at temperature %d, as at 0',
  async (temperature) => {
    const greedy = await sampler.sample(request([4, 5, 6], { temperature: 0 }));

    const [drawn] = (await sampler.sample(request([4, 5, 6], { temperature }))).sequences;

    expect(drawn?.tokens).toEqual(greedy.sequences[0]?.tokens);
    expect(drawn?.logprobs?.every(Number.isFinite)).toBe(true);
  },
);

/** Infinite when the lengths differ or a value is missing. */
function largestDifference(left: readonly (number | null)[] = [], right: ArrayLike<number> = []): number {
  if (left.length !== right.length || left.length === 0) return Infinity;
  return Math.max(...left.map((value, index) => Math.abs((value ?? Infinity) - (right[index] ?? Infinity))));
}

test.each([
  ['the base model', null],
  ['an adapter', LORA],
])('reports the log-probabilities the trainer computes: %s', async (_name, lora) => {
  const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora });
  const data = [
    { tokens: Int32Array.of(1, 2, 3, 4), targetTokens: Int32Array.of(2, 3, 4, 5), lossInputs: {} },
  ];
  await model.forwardBackward(data, { name: 'cross_entropy', config: {} }, { backward: true });
  await model.optimStep({
    learningRate: 0.05,
    beta1: 0.9,
    beta2: 0.95,
    eps: 1e-12,
    weightDecay: 0,
    gradClipNorm: 0,
  });
  const { weights } = await model.exportState({ optimizer: false });
  const trained = await runtime.createSampler({ baseModel: RANDOM_MODEL, lora, weights });

  const prompt = [7, 8, 9];
  const drawn = await trained.sample({ ...request(prompt), promptLogprobs: true });
  const [sequence] = drawn.sequences;
  const all = [...prompt, ...(sequence?.tokens ?? [])];
  const whole = await trained.sample({ ...request(all, { maxTokens: 1 }), promptLogprobs: true });
  const { logprobs } = await model.forwardBackward(
    [
      {
        tokens: Int32Array.from(all.slice(0, -1)),
        targetTokens: Int32Array.from(all.slice(1)),
        lossInputs: {},
      },
    ],
    { name: 'cross_entropy', config: {} },
    { backward: false },
  );

  const sampled = [...(drawn.promptLogprobs ?? []), ...(sequence?.logprobs ?? [])];
  expect(drawn.promptLogprobs).toHaveLength(prompt.length);
  expect(whole.promptLogprobs?.[0]).toBeNull();
  expect(largestDifference(sampled.slice(1), logprobs[0])).toBeLessThan(1e-5);
  expect(largestDifference(whole.promptLogprobs?.slice(1), logprobs[0])).toBeLessThan(1e-5);
  model.dispose();
  trained.dispose();
});

test("ends at a stop token, at a stop text, at the model's end-of-text, or never", async () => {
  const free = await sampler.sample(request([1, 2], { maxTokens: 40 }));
  const tokens = free.sequences[0]?.tokens ?? [];
  const textOf = (token: number | undefined) => CHARACTERS[(token ?? 2) - 2] ?? '';
  const stopText = textOf(tokens[4]) + textOf(tokens[5]);

  const atToken = await sampler.sample(request([1, 2], { stop: [tokens[3] ?? 0] }));
  const atText = await sampler.sample(request([1, 2], { stop: [stopText] }));

  expect(free.sequences[0]?.stopReason).toBe('length');
  expect(tokens).toHaveLength(40);
  const stoppedAt = tokens.indexOf(tokens[3] ?? 0) + 1;
  expect(atToken.sequences[0]).toMatchObject({ tokens: tokens.slice(0, stoppedAt), stopReason: 'stop' });
  expect(atText.sequences[0]).toMatchObject({ tokens: tokens.slice(0, 6), stopReason: 'stop' });
  expect(atText.sequences[0]?.logprobs).toHaveLength(6);
});

// As the service does it: a base model asked for "\n\nUser:" may end with its end-of-text all the same
// (thinking-machines-lab/tinker-cookbook pull request 339).
test.each([
  { named: 'a text', stop: ['no such text'] },
  { named: 'a token', stop: [9999] },
])('$named to stop at comes besides the end-of-text of the model', async ({ stop }) => {
  const params = { maxTokens: 46, temperature: 2, topK: -1, topP: 1, seed: 3 };

  const absent = await sampler.sample({ prompt: [1, 2], numSamples: 60, params });
  const named = await sampler.sample({ prompt: [1, 2], numSamples: 60, params: { ...params, stop } });

  expect(absent.sequences.filter(({ stopReason }) => stopReason === 'stop').length).toBeGreaterThan(5);
  expect(named.sequences).toEqual(absent.sequences);
});

test('absent stop means the end-of-text of the model', async () => {
  const params = { maxTokens: 46, temperature: 2, topK: -1, topP: 1, seed: 3 };

  const { sequences } = await sampler.sample({ prompt: [1, 2], numSamples: 60, params });

  const stopped = sequences.filter(({ stopReason }) => stopReason === 'stop');
  expect(stopped.length).toBeGreaterThan(5);
  for (const { tokens } of stopped) expect(tokens.indexOf(0)).toBe(tokens.length - 1);
  for (const { tokens, stopReason } of sequences) expect(tokens.includes(0)).toBe(stopReason === 'stop');
});

test('draws until the context is full and no further', async () => {
  const { sequences } = await sampler.sample(request([1, 2, 3], { maxTokens: 500 }));

  expect(sequences[0]?.tokens).toHaveLength(CONTEXT_LENGTH - 3 + 1);
  expect(sequences[0]?.stopReason).toBe('length');
});

test('temperature 0, top-k 1 and a tiny top-p all take the likeliest token', async () => {
  const greedy = await sampler.sample(request([9, 9], { temperature: 0 }));
  const topOne = await sampler.sample(request([9, 9], { topK: 1, seed: 77 }));
  const tinyTopP = await sampler.sample(request([9, 9], { topP: 1e-6, seed: 78 }));

  expect(topOne.sequences).toEqual(greedy.sequences);
  expect(tinyTopP.sequences).toEqual(greedy.sequences);
});

test('draws tokens as often as the distribution says', async () => {
  const count = 4000;
  const { sequences } = await sampler.sample(request([6], { maxTokens: 1, seed: 1 }, count));
  const frequency = new Map<number, number>();
  const probability = new Map<number, number>();
  for (const { tokens, logprobs } of sequences) {
    const token = tokens[0] ?? -1;
    frequency.set(token, (frequency.get(token) ?? 0) + 1 / count);
    probability.set(token, Math.exp(logprobs?.[0] ?? 0));
  }

  for (const [token, expected] of probability) {
    const deviation = Math.sqrt((expected * (1 - expected)) / count);
    expect(Math.abs((frequency.get(token) ?? 0) - expected)).toBeLessThan(5 * deviation);
  }
});

test.each([
  ['an empty prompt', request([])],
  ['a prompt longer than the context', request(Array.from({ length: CONTEXT_LENGTH + 1 }, () => 1))],
  ['a token outside the vocabulary', request([40])],
  ['a negative temperature', request([1], { temperature: -1 })],
  ['no samples', request([1], {}, 0)],
  ['a top_p of 0', request([1], { topP: 0 })],
])('refuses %s', async (_name, bad) => {
  await expect(sampler.sample(bad)).rejects.toMatchObject({ code: 'request-failed', category: 'user' });
});

test('an aborted call ends at once and disturbs no other', async () => {
  const controller = new AbortController();
  const expected = await sampler.sample(request([2, 3], { maxTokens: 40 }, 4));
  const aborted = sampler.sample(request([2, 4], { maxTokens: 46 }, 200), { signal: controller.signal });
  const other = sampler.sample(request([2, 3], { maxTokens: 40 }, 4));
  setImmediate(() => {
    controller.abort(new Error('no longer wanted'));
  });

  await expect(aborted).rejects.toThrow('no longer wanted');
  expect(await other).toEqual(expected);
});

test('a closed sampler refuses, and its memory is there for the next', async () => {
  for (let round = 0; round < 200; round++) {
    const short = await runtime.createSampler({ baseModel: RANDOM_MODEL, lora: null, weights: null });
    if (round % 50 === 0) await short.sample(request([1]));
    short.dispose();
    await expect(short.sample(request([1]))).rejects.toMatchObject({ code: 'request-failed' });
  }
});
