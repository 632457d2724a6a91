import { createModelRuntime } from '../../../../../src/engines/local/compute/create-model-runtime';
import { drawWithReplacement } from '../../../../../src/engines/local/compute/choose-token';
import { chooseTop } from '../../../../../src/engines/local/compute/choose-top';
import { EMPTY_LOGPROB } from '../../../../../src/core/sampling';
import { createRandom } from '../../../../../src/core/random';
import { emptyCells, rowsOfCells } from '../../../../../src/core/sampling-scores';
import type { SampleRequest, TokenCells } from '../../../../../src/core/sampling';
import type { ModelRuntime, SamplerModel } from '../../../../../src/engines/local/model-runtime';
import { CHARACTERS, CONTEXT_LENGTH, RANDOM_MODEL, VOCAB_SIZE, writeRandomModel } from './random-model';

/** Scores beyond those of drawn tokens, against distributions that the trainer computed. */

const modelsFolders = [writeRandomModel()];
const PROMPT = [7, 8, 9, 3, 30];
const PARAMS = { maxTokens: 6, temperature: 1, topK: -1, topP: 1, seed: 3, stop: [] };

let runtime: ModelRuntime;
let sampler: SamplerModel;

beforeAll(async () => {
  runtime = await createModelRuntime({ threads: 2, modelsFolders, memoryMegabytes: 64 });
  sampler = await runtime.createSampler({ baseModel: RANDOM_MODEL, lora: null, weights: null });
});

afterAll(() => runtime.close());

function request(more: Partial<SampleRequest> = {}): SampleRequest {
  return { prompt: PROMPT, numSamples: 1, params: PARAMS, ...more };
}

/** Of every token of the vocabulary after each of `tokens`: the trainer's cross-entropy, one token at a time. */
async function distributions(tokens: readonly number[]): Promise<number[][]> {
  const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: null });
  const data = Array.from({ length: VOCAB_SIZE }, (_, token) => ({
    tokens: Int32Array.from(tokens),
    targetTokens: new Int32Array(tokens.length).fill(token),
    lossInputs: {},
  }));
  const { logprobs } = await model.forwardBackward(
    data,
    { name: 'cross_entropy', config: {} },
    { backward: false },
  );
  model.dispose();
  return tokens.map((_, position) => logprobs.map((scores) => scores[position] ?? Number.NaN));
}

function likeliest(logprobs: readonly number[], count: number): number[] {
  return [...logprobs.keys()]
    .sort((left, right) => (logprobs[right] ?? 0) - (logprobs[left] ?? 0) || left - right)
    .slice(0, count);
}

function rowsOf(cells: TokenCells | undefined): ReturnType<typeof rowsOfCells> {
  return rowsOfCells(cells ?? emptyCells(0, 0));
}

function expectTop(row: ReturnType<typeof rowsOf>[number], expected: readonly number[], count: number): void {
  expect(row?.map(({ token }) => token)).toEqual(likeliest(expected, count));
  for (const { token, logprob } of row ?? []) expect(logprob).toBeCloseTo(expected[token] ?? Number.NaN, 4);
}

test.each([1, 3, VOCAB_SIZE, VOCAB_SIZE + 5])('names the %d likeliest tokens of a prompt', async (count) => {
  const expected = await distributions(PROMPT);

  const { topPromptLogprobs, promptLogprobs } = await sampler.sample(request({ topPromptLogprobs: count }));

  const [first, ...rows] = rowsOf(topPromptLogprobs);
  expect(topPromptLogprobs?.tokens).toHaveLength(PROMPT.length * count);
  expect(promptLogprobs).toBeNull();
  expect(first).toBeNull();
  expect(rows).toHaveLength(PROMPT.length - 1);
  for (const [index, row] of rows.entries())
    expectTop(row, expected[index] ?? [], Math.min(count, VOCAB_SIZE));
});

test('the likeliest tokens have the very scores the prompt has', async () => {
  const { topPromptLogprobs, promptLogprobs } = await sampler.sample(
    request({ topPromptLogprobs: VOCAB_SIZE, promptLogprobs: true }),
  );

  const scores = rowsOf(topPromptLogprobs).map(
    (row, index) => row?.find(({ token }) => token === PROMPT[index])?.logprob ?? null,
  );
  expect(scores).toEqual(promptLogprobs);
});

test('names the likeliest tokens beside each token drawn, at the temperature of the draw', async () => {
  const params = { ...PARAMS, temperature: 0.5 };

  const { sequences } = await sampler.sample(
    request({ params, numSamples: 2, topSampledLogprobs: VOCAB_SIZE }),
  );

  for (const { tokens, logprobs, topLogprobs } of sequences) {
    const all = (await distributions([...PROMPT, ...tokens])).slice(PROMPT.length - 1);
    const rows = rowsOf(topLogprobs);
    expect(rows).toHaveLength(6);
    for (const [index, row] of rows.entries()) {
      const tempered = (all[index] ?? []).map((logprob) => logprob / 0.5);
      const total = Math.log(tempered.reduce((sum, logprob) => sum + Math.exp(logprob), 0));
      expectTop(
        row,
        tempered.map((logprob) => logprob - total),
        VOCAB_SIZE,
      );
      expect(row?.find(({ token }) => token === tokens[index])?.logprob).toBe(logprobs?.[index]);
    }
  }
  expect(sequences[0]?.topLogprobs).not.toEqual(sequences[1]?.topLogprobs);
});

test('greedy decoding takes the first of the likeliest', async () => {
  const params = { ...PARAMS, temperature: 0, maxTokens: 20 };

  const { sequences } = await sampler.sample(request({ params, topSampledLogprobs: 2 }));

  const [sequence] = sequences;
  expect(rowsOf(sequence?.topLogprobs).map((row) => row?.[0]?.token)).toEqual(sequence?.tokens);
});

test('a text that ends a completion ends its rows too', async () => {
  const free = await sampler.sample(request({ topSampledLogprobs: 2 }));
  const tokens = free.sequences[0]?.tokens ?? [];
  const stop = tokens.slice(1, 3).map((token) => CHARACTERS[token - 2] ?? '');

  const { sequences } = await sampler.sample(
    request({ params: { ...PARAMS, stop: [stop.join('')] }, topSampledLogprobs: 2 }),
  );

  expect(sequences[0]?.tokens).toEqual(tokens.slice(0, 3));
  expect(rowsOf(sequences[0]?.topLogprobs)).toEqual(rowsOf(free.sequences[0]?.topLogprobs).slice(0, 3));
});

test('scores the tokens asked for, in a full table and in a sparse one', async () => {
  const expected = await distributions(PROMPT);
  const ids = [1, -1, 2, 39, -1, -1, 0, 7];
  const dense = { rowCount: 4, columnCount: 2, values: Int32Array.from(ids), sparse: null };
  const sparse = {
    rowCount: 4,
    columnCount: 9,
    values: Int32Array.of(5, 6, 5),
    sparse: { rowStarts: Int32Array.of(0, 0, 2, 2, 3), columns: Int32Array.of(0, 8, 3) },
  };

  const full = (await sampler.sample(request({ promptTargets: dense }))).promptTargetLogprobs;
  const listed = (await sampler.sample(request({ promptTargets: sparse }))).promptTargetLogprobs;

  const scores = ids.map((token, index) =>
    token === -1 ? 0 : (expected[index >> 1]?.[token] ?? Number.NaN),
  );
  expect(full).toMatchObject({ rowCount: 4, columnCount: 2, sparse: null });
  for (const [index, score] of scores.entries()) expect(full?.values[index]).toBeCloseTo(score, 4);
  expect(listed).toMatchObject({ rowCount: 4, columnCount: 9, sparse: sparse.sparse });
  for (const [index, [row, token]] of [
    [1, 5],
    [1, 6],
    [3, 5],
  ].entries())
    expect(listed?.values[index]).toBeCloseTo(expected[row ?? 0]?.[token ?? 0] ?? Number.NaN, 4);
});

test.each([0.7, 1])(
  'draws alternatives as often as the distribution at temperature %d says',
  async (temperature) => {
    const expected = await distributions(PROMPT);
    const count = 4000;

    const { promptAlternatives } = await sampler.sample(
      request({ params: { ...PARAMS, temperature, topK: 1, topP: 0.1 }, promptAlternatives: count }),
    );

    const rows = rowsOf(promptAlternatives);
    expect(rows).toHaveLength(PROMPT.length - 1);
    for (const [index, row] of rows.entries()) {
      const weights = (expected[index] ?? []).map((logprob) => Math.exp(logprob / temperature));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (const [token, weight] of weights.entries()) {
        const probability = weight / total;
        const frequency = (row ?? []).filter((cell) => cell.token === token).length / count;
        const deviation = Math.sqrt((probability * (1 - probability)) / count);
        expect(Math.abs(frequency - probability)).toBeLessThan(5 * deviation);
      }
      for (const { token, logprob } of row ?? [])
        expect(Math.abs(logprob - (expected[index]?.[token] ?? Number.NaN))).toBeLessThan(1e-4);
    }
  },
);

test('alternatives at temperature 0 are the likeliest token', async () => {
  const { promptAlternatives, topPromptLogprobs } = await sampler.sample(
    request({ params: { ...PARAMS, temperature: 0 }, promptAlternatives: 3, topPromptLogprobs: 1 }),
  );

  const best = rowsOf(topPromptLogprobs).slice(1);
  expect(rowsOf(promptAlternatives)).toEqual(best.map((row) => [row?.[0], row?.[0], row?.[0]]));
});

test('asking for scores changes nothing that is drawn, and each kind is the same alone and with the others', async () => {
  const table = {
    rowCount: PROMPT.length - 1,
    columnCount: 1,
    values: Int32Array.of(1, 2, 3, 4),
    sparse: null,
  };
  const kinds: Partial<SampleRequest>[] = [
    { promptLogprobs: true },
    { topPromptLogprobs: 4 },
    { topSampledLogprobs: 4 },
    { promptTargets: table },
    { promptAlternatives: 4 },
  ];
  const params = { ...PARAMS, temperature: 1.3 };
  const plain = await sampler.sample(request({ params }));

  const every = kinds.reduce((sum, kind) => ({ ...sum, ...kind }), {});
  const all = await sampler.sample(request({ params, ...every }));
  for (const kind of kinds)
    expect(all).toMatchObject(await sampler.sample(request({ params, promptLogprobs: true, ...kind })));
  expect(all).toMatchObject({ sequences: plain.sequences });
});

test('scores are the same whatever else is being drawn', async () => {
  const requests = Array.from({ length: 24 }, (_, index) => {
    const prompt = Array.from(
      { length: 1 + ((index * 7) % CONTEXT_LENGTH) },
      (_token, at) => (at * 5 + index) % 40,
    );
    return request({
      prompt,
      numSamples: 1 + (index % 2),
      params: { ...PARAMS, seed: index, temperature: (index % 4) / 2, maxTokens: 4 },
      promptLogprobs: index % 3 === 0,
      topPromptLogprobs: index % 5,
      topSampledLogprobs: index % 4,
      promptAlternatives: index % 3,
      ...(prompt.length > 1 &&
        index % 2 === 0 && {
          promptTargets: {
            rowCount: prompt.length - 1,
            columnCount: 1,
            values: Int32Array.from(prompt.slice(1)),
            sparse: null,
          },
        }),
    });
  });
  const alone = [];
  for (const each of requests) alone.push(await sampler.sample(each));

  const together = await Promise.all(requests.map((each) => sampler.sample(each)));

  expect(together).toEqual(alone);
  const scored = alone[6];
  expect(scored?.promptTargetLogprobs?.values).toEqual(
    Float32Array.from(scored?.promptLogprobs?.slice(1) ?? [], Number),
  );
});

test('a prompt of one token has no place to score', async () => {
  const drawn = await sampler.sample(request({ prompt: [5], topPromptLogprobs: 2, promptAlternatives: 3 }));

  expect(rowsOf(drawn.topPromptLogprobs)).toEqual([null]);
  expect(drawn.promptAlternatives).toEqual(emptyCells(0, 3));
});

test.each([
  ['too many scores', { topPromptLogprobs: 60_000 }, '300000 scores'],
  ['a negative count', { topSampledLogprobs: -1 }, 'topk_sample_logprobs is -1'],
  [
    'targets for another prompt',
    { promptTargets: { rowCount: 1, columnCount: 1, values: Int32Array.of(1), sparse: null } },
    'has 1 rows',
  ],
])('refuses %s', async (_name, more, reason) => {
  await expect(sampler.sample(request(more))).rejects.toMatchObject({
    code: 'request-failed',
    category: 'user',
    message: expect.stringContaining(reason) as string,
  });
});

test('the likeliest are those a full sort finds, ties by id', () => {
  const random = createRandom(5);
  for (const size of [1, 2, 3, 17, 300]) {
    const logits = Float32Array.from({ length: size }, () => Math.floor(random() * 20) - 10);
    for (const count of [0, 1, 2, 5, size - 1, size, size + 3]) {
      expect([...chooseTop(logits, count)]).toEqual(likeliest([...logits], count));
    }
  }
});

test('draws take the token whose share of the whole the number falls in, never one without a share', () => {
  const probabilities = Float32Array.of(0, 0.25, 0, 0.5, 0.25, 0);
  const uniforms = Float64Array.of(0, 0.2499, 0.25, 0.7499, 0.75, 1 - 2 ** -32);

  expect([...drawWithReplacement(probabilities, uniforms)]).toEqual([1, 1, 3, 3, 4, 4]);
  expect(EMPTY_LOGPROB).toBe(-99999);
});
