import { createHash } from 'node:crypto';
import { createRandom } from '../../../../../src/core/random';
import { createModelRuntime } from '../../../../../src/engines/local/compute/create-model-runtime';
import { readSafetensors, writeSafetensors } from '../../../../../src/engines/local/compute/safetensors';
import { CONTEXT_LENGTH, RANDOM_MODEL, VOCAB_SIZE, writeRandomModel } from './random-model';
import { everyFifth } from '../../../../setup/deep-cases';
import type { AdamParams, Datum } from '../../../../../src/core/datum';
import type {
  LoraConfig,
  LossSpec,
  ModelRuntime,
  ModelState,
  NamedTensor,
  TrainableModel,
} from '../../../../../src/engines/local/model-runtime';

const LORA: LoraConfig = { rank: 5, seed: 9, trainAttn: true, trainMlp: true, trainUnembed: true };
const ADAM: AdamParams = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-12,
  weightDecay: 0.01,
  gradClipNorm: 1,
};
const CROSS_ENTROPY: LossSpec = { name: 'cross_entropy', config: {} };
const modelsFolders = [writeRandomModel()];
const tiedFolders = [writeRandomModel({ tied: true, keyHeads: 2 })];

const LOSSES: readonly LossSpec[] = [
  CROSS_ENTROPY,
  { name: 'importance_sampling', config: {} },
  { name: 'ppo', config: { clip_low_threshold: 0.5, clip_high_threshold: 3 } },
  { name: 'cispo', config: {} },
  { name: 'dro', config: { beta: 0.3 } },
];

/** Sequences of several lengths, more tokens than one slice. */
function makeBatch(count: number, seed: number, loss: LossSpec = CROSS_ENTROPY): Datum[] {
  const random = createRandom(seed);
  const token = () => Math.floor(random() * VOCAB_SIZE);
  return Array.from({ length: count }, () => {
    const length = 3 + Math.floor(random() * 14);
    const signed = () => Float32Array.from({ length }, () => 2 * random() - 0.8);
    const lossInputs: Record<string, Float32Array> =
      loss.name === 'cross_entropy'
        ? { weights: signed() }
        : { logprobs: Float32Array.from({ length }, () => -3 - 1.5 * random()), advantages: signed() };
    return {
      tokens: Int32Array.from({ length }, token),
      targetTokens: Int32Array.from({ length }, token),
      lossInputs,
    };
  });
}

function digest(tensors: readonly NamedTensor[]): string {
  return createHash('sha256').update(writeSafetensors(tensors)).digest('hex');
}

let shared: ModelRuntime;

beforeAll(async () => {
  shared = await createModelRuntime({ modelsFolders, memoryMegabytes: 128, threads: 2 });
});

afterAll(() => shared.close());

async function withRuntime<Result>(
  options: Parameters<typeof createModelRuntime>[0] | null,
  run: (runtime: ModelRuntime) => Promise<Result>,
): Promise<Result> {
  if (options === null) return run(shared);
  const runtime = await createModelRuntime({ modelsFolders, memoryMegabytes: 128, threads: 2, ...options });
  try {
    return await run(runtime);
  } finally {
    await runtime.close();
  }
}

/** An adapter whose B is zero has no gradient in A: give it a B. */
async function perturb(model: TrainableModel): Promise<NamedTensor[]> {
  const random = createRandom(4);
  const { weights } = await model.exportState({ optimizer: false });
  const moved = weights.map((tensor) =>
    tensor.name.includes('lora_B')
      ? { ...tensor, data: tensor.data.map(() => (random() - 0.5) * 0.2) }
      : tensor,
  );
  await model.importState({ weights: moved, optimizer: null });
  return moved;
}

/** With beta1 = beta2 = 0 the first moment after a step is the gradient itself. */
async function gradientOf(
  model: TrainableModel,
  batch: readonly Datum[],
  loss: LossSpec,
): Promise<readonly NamedTensor[]> {
  await model.forwardBackward(batch, loss, { backward: true });
  await model.optimStep({ ...ADAM, learningRate: 0, beta1: 0, beta2: 0, gradClipNorm: 0 });
  const { optimizer } = await model.exportState({ optimizer: true });
  return optimizer?.firstMoment ?? [];
}

async function lossOf(model: TrainableModel, batch: readonly Datum[], loss: LossSpec): Promise<number> {
  const { metrics } = await model.forwardBackward(batch, loss, { backward: false });
  return metrics['loss:sum'] ?? NaN;
}

test('a batch of more slices than are copied at a time gives the same, in whatever waves', async () => {
  const model = await shared.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
  const batch = makeBatch(7500, 6);

  const forward = await model.forwardBackward(batch, CROSS_ENTROPY, { backward: false });
  const backward = await model.forwardBackward(batch, CROSS_ENTROPY, { backward: true });

  expect(batch.reduce((sum, { tokens }) => sum + tokens.length, 0)).toBeGreaterThan(257 * 256);
  expect(forward).toEqual(backward);
  expect(forward.logprobs.map(({ length }) => length)).toEqual(batch.map(({ tokens }) => tokens.length));
  model.dispose();
});

/** cispo does not differentiate its ratio: its finite difference keeps the factors of the unmoved weights. */
async function frozenRatios(model: TrainableModel, batch: readonly Datum[]): Promise<Datum[]> {
  const plain = batch.map((datum) => ({ ...datum, lossInputs: {} }));
  const { logprobs } = await model.forwardBackward(plain, CROSS_ENTROPY, { backward: false });
  return batch.map((datum, index) => ({
    tokens: datum.tokens,
    targetTokens: datum.targetTokens,
    lossInputs: {
      weights: Float32Array.from(datum.tokens, (_, at) => {
        const ratio = Math.exp((logprobs[index]?.[at] ?? 0) - (datum.lossInputs['logprobs']?.[at] ?? 0));
        return Math.min(4, ratio) * (datum.lossInputs['advantages']?.[at] ?? 0);
      }),
    },
  }));
}

async function checkGradients(
  runtime: ModelRuntime,
  lora: LoraConfig | null,
  loss: LossSpec,
): Promise<string[]> {
  const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora });
  const weights = await perturb(model);
  const batch = makeBatch(30, 21, loss);
  const measured = loss.name === 'cispo' ? await frozenRatios(model, batch) : batch;
  const measuredLoss = loss.name === 'cispo' ? CROSS_ENTROPY : loss;
  const gradient = await gradientOf(model, batch, loss);
  const wrong: string[] = [];
  for (const [index, { name, data }] of gradient.entries()) {
    const norm = Math.hypot(...data);
    if (norm < 1e-3) wrong.push(`${name} has no gradient`);
    const epsilon = 4e-3;
    const values: number[] = [];
    for (const sign of [1, -1]) {
      const moved = weights.map((tensor, at) =>
        at === index
          ? {
              ...tensor,
              data: tensor.data.map((value, k) => value + (sign * epsilon * (data[k] ?? 0)) / norm),
            }
          : tensor,
      );
      await model.importState({ weights: moved, optimizer: null });
      values.push(await lossOf(model, measured, measuredLoss));
    }
    const numeric = ((values[0] ?? 0) - (values[1] ?? 0)) / (2 * epsilon);
    if (Math.abs(numeric - norm) > 0.01 * norm + 2e-3) wrong.push(`${name}: ${norm} but measured ${numeric}`);
  }
  model.dispose();
  return wrong;
}

describe.each([
  ['full, separate head, grouped heads', null, modelsFolders, 'auto', LOSSES],
  // The losses' slopes are the same; all of them are tried in test/deep.
  ['LoRA of rank 5', LORA, modelsFolders, 'auto', everyFifth(LOSSES, 0)],
  ['full, tied head', null, tiedFolders, 'auto', [CROSS_ENTROPY]],
  ['LoRA of rank 5, tied head', LORA, tiedFolders, 'auto', [CROSS_ENTROPY]],
  ['full, plain kernels', null, modelsFolders, 'plain', [CROSS_ENTROPY]],
] as const)('gradients agree with finite differences: %s', (_name, lora, folders, kernels, losses) => {
  test.each(losses.map((loss) => [loss.name, loss] as const))('%s', async (_loss, loss) => {
    const wrong = await withRuntime({ modelsFolders: folders, kernels }, (runtime) =>
      checkGradients(runtime, lora, loss),
    );

    expect(wrong).toEqual([]);
  });
});

/** Soft targets, three a position, between datums of one each. */
function makeSoftBatch(count: number, seed: number): Datum[] {
  const random = createRandom(seed);
  return makeBatch(count, seed).map((datum, index) => {
    if (index % 3 === 0) return datum;
    const length = 3 * datum.tokens.length;
    return {
      tokens: datum.tokens,
      targetTokens: Int32Array.from({ length }, () => Math.floor(random() * VOCAB_SIZE)),
      lossInputs: { weights: Float32Array.from({ length }, () => random()) },
      targetsPerPosition: 3,
    };
  });
}

test('soft targets: loss and gradient are the weighted sum over the targets of each position', async () => {
  await withRuntime(null, async (runtime) => {
    const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
    await perturb(model);
    const soft = makeSoftBatch(20, 5);
    // The same as datums of one target a position, one for each of the columns.
    const columns = soft.flatMap((datum) => {
      const { targetsPerPosition: width = 1 } = datum;
      const column = <Values extends Int32Array | Float32Array>(values: Values | undefined, at: number) =>
        values?.filter((_value, index) => index % width === at) as Values;
      return Array.from({ length: width }, (_, at) => ({
        tokens: datum.tokens,
        targetTokens: column(datum.targetTokens, at),
        lossInputs: { weights: column(datum.lossInputs['weights'], at) },
      }));
    });

    const [found, expected] = [
      await lossOf(model, soft, CROSS_ENTROPY),
      await lossOf(model, columns, CROSS_ENTROPY),
    ];
    const gradients = [
      await gradientOf(model, soft, CROSS_ENTROPY),
      await gradientOf(model, columns, CROSS_ENTROPY),
    ];
    const { logprobs } = await model.forwardBackward(soft, CROSS_ENTROPY, { backward: false });

    expect(found).toBeCloseTo(expected, 3);
    expect(logprobs.map((values) => values.length)).toEqual(
      soft.map(({ targetTokens }) => targetTokens.length),
    );
    for (const [index, { data }] of gradients[0]?.entries() ?? []) {
      const other = gradients[1]?.[index]?.data ?? new Float32Array();
      const difference = Math.hypot(...data.map((value, at) => value - (other[at] ?? 0)));
      expect(difference).toBeLessThan(1e-4 * (1 + Math.hypot(...other)));
    }
  });
});

test('policy losses take one target a position', async () => {
  await withRuntime(null, async (runtime) => {
    const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
    const soft = makeSoftBatch(2, 5);

    await expect(
      model.forwardBackward(soft, { name: 'ppo', config: {} }, { backward: false }),
    ).rejects.toThrow(/Datum 0|Datum 1 has 3 targets a position/);
  });
});

test('losses are those of the protocol, summed over tokens', async () => {
  await withRuntime(null, async (runtime) => {
    const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: null });
    const batch = makeBatch(3, 8, { name: 'ppo', config: {} });
    const run = (loss: LossSpec) => model.forwardBackward(batch, loss, { backward: false });
    const { logprobs } = await run({ name: 'ppo', config: {} });
    const sum = (token: (p: number, q: number, advantage: number) => number) => {
      let total = 0;
      for (const [index, { lossInputs }] of batch.entries()) {
        for (const [at, p] of logprobs[index]?.entries() ?? []) {
          total += token(p, lossInputs['logprobs']?.[at] ?? NaN, lossInputs['advantages']?.[at] ?? NaN);
        }
      }
      return total;
    };
    const clip = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

    const expected: [LossSpec, number][] = [
      [{ name: 'importance_sampling', config: {} }, -sum((p, q, a) => Math.exp(p - q) * a)],
      [
        { name: 'ppo', config: {} },
        -sum((p, q, a) => Math.min(Math.exp(p - q) * a, clip(Math.exp(p - q), 0.8, 1.2) * a)),
      ],
      [{ name: 'cispo', config: {} }, -sum((p, q, a) => clip(Math.exp(p - q), 0, 4) * p * a)],
      [
        { name: 'cispo', config: { clip_low_threshold: 0.9, clip_high_threshold: 1.1 } },
        -sum((p, q, a) => clip(Math.exp(p - q), 0.9, 1.1) * p * a),
      ],
      [{ name: 'dro', config: { beta: 0.2 } }, -sum((p, q, a) => p * a - 0.1 * (p - q) ** 2)],
    ];

    for (const [loss, value] of expected) expect((await run(loss)).metrics['loss:sum']).toBeCloseTo(value, 4);
  });
});

async function trainAndDigest(options: {
  threads: number;
  lora: LoraConfig | null;
  restoreAt?: number;
}): Promise<string> {
  return withRuntime({ threads: options.threads }, async (runtime) => {
    let model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: options.lora });
    const other = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: { ...LORA, seed: 1 } });
    const sampler = await runtime.createSampler({ baseModel: RANDOM_MODEL, lora: null, weights: null });
    const params = { maxTokens: 40, temperature: 1, topK: -1, topP: 1, seed: 1 };
    const others: Promise<unknown>[] = [];
    const background = sampler.sample({ prompt: [1], numSamples: 16, params });
    for (let step = 0; step < 4; step++) {
      if (step === options.restoreAt) model = await reopen(runtime, model, options.lora);
      others.push(other.forwardBackward(makeBatch(20, step), CROSS_ENTROPY, { backward: true }));
      void model.forwardBackward(makeBatch(40, step), CROSS_ENTROPY, { backward: true });
      void model.forwardBackward(makeBatch(7, 100 + step), CROSS_ENTROPY, { backward: true });
      await model.optimStep(ADAM);
    }
    await Promise.all([background, ...others]);
    return digest((await model.exportState({ optimizer: false })).weights);
  });
}

/** Through files and into a model made with another seed, as a server that was restarted would. */
async function reopen(
  runtime: ModelRuntime,
  model: TrainableModel,
  lora: LoraConfig | null,
): Promise<TrainableModel> {
  const { weights, optimizer } = await model.exportState({ optimizer: true });
  const throughFile = (tensors: readonly NamedTensor[]) => readSafetensors(writeSafetensors(tensors));
  const state: ModelState = {
    weights: throughFile(weights),
    optimizer: optimizer && {
      step: optimizer.step,
      firstMoment: throughFile(optimizer.firstMoment),
      secondMoment: throughFile(optimizer.secondMoment),
    },
  };
  model.dispose();
  const reopened = await runtime.createModel({
    baseModel: RANDOM_MODEL,
    lora: lora && { ...lora, seed: 1234 },
  });
  await reopened.importState(state);
  return reopened;
}

test.each([
  ['full fine-tuning', null],
  ['LoRA', LORA],
])('final weights are bit-equal on 1, 2 and 3 threads and after a restore: %s', async (_name, lora) => {
  const digests = [
    await trainAndDigest({ threads: 1, lora }),
    await trainAndDigest({ threads: 2, lora }),
    await trainAndDigest({ threads: 3, lora }),
    await trainAndDigest({ threads: 2, lora, restoreAt: 2 }),
  ];

  expect(digests).toEqual(digests.map(() => digests[0]));
});

test('initialisation depends on the LoRA seed alone', async () => {
  const exported = await withRuntime(null, async (runtime) => {
    const states: string[] = [];
    for (const seed of [1, 2, 1]) {
      const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: { ...LORA, seed } });
      states.push(digest((await model.exportState({ optimizer: false })).weights));
    }
    return states;
  });

  expect(exported[0]).toBe(exported[2]);
  expect(exported[0]).not.toBe(exported[1]);
});

test('an adapter has PEFT names and the shapes of its rank, only where it trains', async () => {
  await withRuntime(null, async (runtime) => {
    const lora = { ...LORA, trainMlp: false, trainUnembed: false };
    const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora });

    const { weights } = await model.exportState({ optimizer: false });

    expect(weights).toHaveLength(2 * 4 * 2);
    expect(weights[0]).toMatchObject({
      name: 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight',
      shape: [5, 32],
    });
    expect(weights[1]?.data.every((value) => value === 0)).toBe(true);
  });
});

test.each([
  ['full fine-tuning', null, 3e-3],
  ['LoRA', LORA, 1e-2],
])('learns a batch by heart: %s', async (_name, lora, learningRate) => {
  await withRuntime(null, async (runtime) => {
    const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora });
    const batch = makeBatch(8, 2).map((datum) => ({ ...datum, lossInputs: {} }));
    const first = await lossOf(model, batch, CROSS_ENTROPY);

    for (let step = 0; step < 150; step++) {
      void model.forwardBackward(batch, CROSS_ENTROPY, { backward: true });
      await model.optimStep({ ...ADAM, learningRate, weightDecay: 0 });
    }

    expect(await lossOf(model, batch, CROSS_ENTROPY)).toBeLessThan(0.1 * first);
  });
});

test('gradients add up until the optimizer step, which clears them and clips their norm', async () => {
  await withRuntime(null, async (runtime) => {
    const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
    const [batch, frozen] = [makeBatch(30, 6), { ...ADAM, learningRate: 0 }];
    await model.forwardBackward(batch, CROSS_ENTROPY, { backward: true });
    const once = (await model.optimStep(frozen))['grad_norm'] ?? 0;
    await model.forwardBackward(batch, CROSS_ENTROPY, { backward: true });
    await model.forwardBackward(batch, CROSS_ENTROPY, { backward: true });
    const twice = (await model.optimStep(frozen))['grad_norm'] ?? 0;
    const cleared = (await model.optimStep(frozen))['grad_norm'];

    expect(twice / once).toBeCloseTo(2, 5);
    expect(cleared).toBe(0);
  });
});

test('AdamW follows its formula, decay decoupled', async () => {
  await withRuntime(null, async (runtime) => {
    const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: null });
    const before = (await model.exportState({ optimizer: false })).weights;
    const batch = makeBatch(10, 3);
    const gradient = await gradientOf(model, batch, CROSS_ENTROPY);
    await model.importState({ weights: before, optimizer: null });
    const adam = { ...ADAM, learningRate: 0.01, weightDecay: 0.1, gradClipNorm: 0.5 };
    await model.forwardBackward(batch, CROSS_ENTROPY, { backward: true });
    const { grad_norm: norm = 0 } = await model.optimStep(adam);
    const after = (await model.exportState({ optimizer: false })).weights;

    // After one step both moments are unbiased back to g and g².
    const expectedAfter = (start: number, g: number) =>
      start * (1 - 0.01 * 0.1) - (0.01 * g) / (Math.abs(g) + 1e-12);
    const differences = after.flatMap((tensor, index) =>
      Array.from(tensor.data, (value, at) => {
        const g = ((gradient[index]?.data[at] ?? 0) * 0.5) / norm;
        const isRounded = g !== 0 && Math.abs(g) < 1e-7;
        return isRounded ? 0 : Math.abs(expectedAfter(before[index]?.data[at] ?? 0, g) - value);
      }),
    );
    const worst = differences.reduce((largest, difference) => Math.max(largest, difference), 0);
    expect(norm).toBeGreaterThan(0.5);
    expect(worst).toBeLessThan(1e-5);
  });
});

describe('bad input is refused and changes nothing', () => {
  const good = makeBatch(1, 1)[0] as Datum;
  const length = good.tokens.length;
  const policy: LossSpec = { name: 'ppo', config: {} };
  const bad: [string, readonly Datum[], LossSpec][] = [
    ['no data', [], CROSS_ENTROPY],
    [
      'targets of another length',
      [good, { ...good, targetTokens: new Int32Array(length - 1) }],
      CROSS_ENTROPY,
    ],
    [
      'a token outside the vocabulary',
      [good, { ...good, tokens: new Int32Array(length).fill(VOCAB_SIZE) }],
      CROSS_ENTROPY,
    ],
    ['a negative target', [good, { ...good, targetTokens: new Int32Array(length).fill(-1) }], CROSS_ENTROPY],
    [
      'weights of another length',
      [good, { ...good, lossInputs: { weights: new Float32Array(length + 1) } }],
      CROSS_ENTROPY,
    ],
    [
      'a weight that is not finite',
      [good, { ...good, lossInputs: { weights: new Float32Array(length).fill(NaN) } }],
      CROSS_ENTROPY,
    ],
    ['a missing advantage', [{ ...good, lossInputs: { logprobs: new Float32Array(length) } }], policy],
    [
      'an input the loss does not take',
      [{ ...good, lossInputs: { mask: new Float32Array(length) } }],
      CROSS_ENTROPY,
    ],
    [
      'a sequence longer than the context',
      [
        {
          tokens: new Int32Array(CONTEXT_LENGTH + 1),
          targetTokens: new Int32Array(CONTEXT_LENGTH + 1),
          lossInputs: {},
        },
      ],
      CROSS_ENTROPY,
    ],
    [
      'an empty sequence',
      [{ tokens: new Int32Array(0), targetTokens: new Int32Array(0), lossInputs: {} }],
      CROSS_ENTROPY,
    ],
    ['an unknown setting', [good], { name: 'cross_entropy', config: { beta: 1 } }],
    ['an unknown loss', [good], { name: 'nope' as 'ppo', config: {} }],
  ];

  test.each(bad)('%s', async (_name, data, loss) => {
    await withRuntime(null, async (runtime) => {
      const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
      await model.forwardBackward([good], CROSS_ENTROPY, { backward: true });
      const refused = model.forwardBackward(data, loss, { backward: true });
      await expect(refused).rejects.toMatchObject({ code: 'request-failed', category: 'user' });
      await expect(model.optimStep({ ...ADAM, learningRate: NaN })).rejects.toMatchObject({
        category: 'user',
      });
      const weights = await model.exportState({ optimizer: false });
      const wrong = { weights: weights.weights.slice(1), optimizer: null };
      await expect(model.importState(wrong)).rejects.toMatchObject({ category: 'user' });
      await model.optimStep(ADAM);
      const disturbed = digest((await model.exportState({ optimizer: false })).weights);

      const calm = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
      await calm.forwardBackward([good], CROSS_ENTROPY, { backward: true });
      await calm.optimStep(ADAM);
      expect(disturbed).toBe(digest((await calm.exportState({ optimizer: false })).weights));
    });
  });
});

describe('an optimizer step that would not be finite', () => {
  const bad: readonly (readonly [string, Partial<AdamParams>, number])[] = [
    ['a learning rate that leaves float32 with the bias correction', { learningRate: 3e38 }, 1],
    ['a decay that leaves float32 with the learning rate', { learningRate: 1e20, weightDecay: 1e30 }, 1],
    ['gradients whose squares leave float32', { gradClipNorm: 0 }, 1e30],
    ['gradients that are not finite', {}, 3e38],
  ];

  test.each(bad)('from %s is not applied, and clears the gradients', async (_name, change, weight) => {
    await withRuntime(null, async (runtime) => {
      const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
      const calm = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });
      for (const each of [model, calm]) {
        await each.forwardBackward(makeBatch(4, 1), CROSS_ENTROPY, { backward: true });
        await each.optimStep(ADAM);
      }
      const heavy = makeBatch(4, 2).map((datum) => ({
        ...datum,
        lossInputs: { weights: Float32Array.from(datum.tokens, () => weight) },
      }));
      await model.forwardBackward(heavy, CROSS_ENTROPY, { backward: true });

      await expect(model.optimStep({ ...ADAM, ...change })).rejects.toMatchObject({
        code: 'request-failed',
        category: 'user',
        message: expect.stringContaining('not applied') as unknown,
      });

      expect(await model.exportState({ optimizer: true })).toEqual(
        await calm.exportState({ optimizer: true }),
      );
      for (const each of [model, calm]) {
        await each.forwardBackward(makeBatch(4, 3), CROSS_ENTROPY, { backward: true });
        await each.optimStep(ADAM);
      }
      expect(await model.exportState({ optimizer: true })).toEqual(
        await calm.exportState({ optimizer: true }),
      );
    });
  });

  test.each([
    { learningRate: 1e300 },
    { beta1: 1 - 1e-12 },
    { beta2: 1 - 1e-12 },
    { eps: 1e-60 },
    { weightDecay: 1e300 },
    { gradClipNorm: 1e300 },
  ])('because of %j is refused before', async (change) => {
    await withRuntime(null, async (runtime) => {
      const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: LORA });

      await expect(model.optimStep({ ...ADAM, ...change })).rejects.toMatchObject({
        category: 'user',
        message: expect.stringContaining('float32') as unknown,
      });
    });
  });
});

test('memory of models that were unloaded is used again', async () => {
  await withRuntime({ memoryMegabytes: 16 }, async (runtime) => {
    for (let round = 0; round < 100; round++) {
      const model = await runtime.createModel({ baseModel: RANDOM_MODEL, lora: null });
      void model.forwardBackward(makeBatch(20, round), CROSS_ENTROPY, { backward: true });
      const done = model.optimStep(ADAM);
      model.dispose();
      await done;
      await expect(model.optimStep(ADAM)).rejects.toMatchObject({ code: 'request-failed' });
    }
  });
});

test('an unknown base model is refused by name', async () => {
  await withRuntime(null, async (runtime) => {
    expect(runtime.baseModels).toMatchObject([
      { name: RANDOM_MODEL, contextLength: CONTEXT_LENGTH, vocabSize: VOCAB_SIZE },
    ]);
    await expect(runtime.createModel({ baseModel: 'nope', lora: null })).rejects.toMatchObject({
      code: 'unknown-model',
    });
  });
});
