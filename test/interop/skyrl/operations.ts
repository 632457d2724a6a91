/**
 * Every operation of our client against SkyRL, with the values it must give: those of our own engine with the same
 * weights (both serve the model that ships with Everstep), and those that follow from what was saved and restored.
 */
import type { Datum } from '../../../src/core/datum';
import { createRandom } from '../../../src/core/random';
import type { SampleRequest } from '../../../src/core/sampling';
import type { TinkerClient } from '../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../src/engines/tinker/client';
import type { Check } from './checks';
import { expectEqual, expectRefused, expectSmall, runChecks } from './checks';
import { largestDifference, meanNll, TrainedModel } from './trained-model';

export interface Sites {
  readonly skyrlUrl: string;
  /** What SkyRL calls the model. */
  readonly skyrlModel: string;
  readonly engineUrl: string;
}

const OUR_MODEL = 'everstep/tiny';
/** Both compute in float32, in another order. */
const ROUNDING = 2e-3;
const SAME = 1e-5;
const NORM = 'skyrl.ai/grad_norm';
const STEP_COUNT = 4;
/** Padding is never drawn, so that every sample has its full length. */
const NO_TOKEN = 0;

export async function checkOperations(sites: Sites, onCheck: (check: Check) => void): Promise<Check[]> {
  const skyrl = createTinkerClient({ baseUrl: sites.skyrlUrl });
  const ours = createTinkerClient({ baseUrl: sites.engineUrl });
  try {
    const suite = new Operations(sites, skyrl, ours);
    return await runChecks(suite.checks(), onCheck);
  } finally {
    await Promise.all([skyrl.close(), ours.close()]);
  }
}

class Operations {
  private readonly data = makeData();
  private model: TrainedModel | null = null;
  private readonly paths = { state: '', snapshot: '' };
  private firstNorm = 0;
  private atSnapshot: readonly Float32Array[] = [];

  constructor(
    private readonly sites: Sites,
    private readonly skyrl: TinkerClient,
    private readonly ours: TinkerClient,
  ) {}

  checks(): readonly (readonly [string, () => Promise<string>])[] {
    return [
      ['create model', () => this.create()],
      ['forward: log-probs of our engine', () => this.forward()],
      ['forward_backward: loss of our engine', () => this.firstStep()],
      ['optim_step: the loss falls', () => this.train()],
      ['unequal weights refused', () => this.refuseWeights()],
      ['gradient clipping refused', () => this.refuseClipping()],
      ['save and load with optimizer', () => this.restore()],
      ['load without optimizer refused', () => this.refuseFreshOptimizer()],
      ['save for sampling', () => this.snapshot()],
      ['sampling: greedy tokens of our engine', () => this.sampleBase()],
      ['sampling: prompt log-probs', () => this.scorePrompt()],
      ['sampling an old snapshot leaves training alone', () => this.sampleOld()],
      ['a snapshot outlives its model', () => this.sampleWithout()],
      ['a new model begins without the gradients of the one before', () => this.beginClean()],
      ['checkpoint list', () => this.list()],
      ['checkpoint delete', () => this.remove()],
      ['digest of the weights', () => this.digest()],
    ];
  }

  private async create(): Promise<string> {
    const models = await this.skyrl.capabilities();
    expectEqual('models offered', models.map(({ name }) => name).join(), this.sites.skyrlModel);
    this.model = await TrainedModel.create(this.skyrl, this.sites.skyrlModel);
    return this.model.modelId;
  }

  private async forward(): Promise<string> {
    const logprobs = await this.trained.forward(this.data);
    const reference = await TrainedModel.create(this.ours, OUR_MODEL);
    return expectSmall(largestDifference(logprobs, await reference.forward(this.data)), ROUNDING);
  }

  private async firstStep(): Promise<string> {
    const reference = await TrainedModel.create(this.ours, OUR_MODEL);
    const there = meanNll(this.data, (await reference.step(this.data)).logprobs);
    const { logprobs, metrics } = await this.trained.step(this.data);
    this.firstNorm = metrics[NORM] ?? 0;
    const here = meanNll(this.data, logprobs);
    expectSmall(Math.abs(here - there), ROUNDING);
    return `${here.toFixed(5)} here, ${there.toFixed(5)} there`;
  }

  private async train(): Promise<string> {
    const losses: number[] = [];
    for (let step = 0; step < STEP_COUNT; step++) {
      const { logprobs, metrics } = await this.trained.step(this.data);
      losses.push(meanNll(this.data, logprobs));
      if (!((metrics[NORM] ?? 0) > 0)) throw new Error('no gradient norm is reported');
    }
    const isFalling = losses.every((loss, index) => index === 0 || loss < (losses[index - 1] ?? 0));
    if (!isFalling) throw new Error(`losses ${losses.join(' ')}`);
    return losses.map((loss) => loss.toFixed(3)).join(' ');
  }

  private refuseWeights(): Promise<string> {
    const unequal = this.data.map((datum, row) => ({
      ...datum,
      lossInputs: { weights: weightsOf(datum.tokens.length, row + 1) },
    }));
    return expectRefused('request-failed', () => this.trained.step(unequal));
  }

  private refuseClipping(): Promise<string> {
    return expectRefused('request-failed', () => this.trained.step(this.data, 1));
  }

  /** The moments decide where the next step goes, so that it shows whether they came back. */
  private async restore(): Promise<string> {
    // What was refused above left its gradient behind.
    await this.trained.step(this.data);
    this.paths.state = await this.trained.save('state-a');
    const restored = await this.trained.restore(this.sites.skyrlModel, this.paths.state);
    const saved = await restored.forward(this.data);
    expectSmall(largestDifference(saved, await this.trained.forward(this.data)), SAME);
    // One after the other: passes that wait together become one batch, which rounds differently.
    await restored.step(this.data);
    await this.trained.step(this.data);
    const [here, there] = [await restored.forward(this.data), await this.trained.forward(this.data)];
    await restored.unload();
    return expectSmall(largestDifference(here, there), SAME);
  }

  private async refuseFreshOptimizer(): Promise<string> {
    const sessionId = await this.skyrl.createSession();
    const spec = { sessionId, modelSeqId: 0, baseModel: this.sites.skyrlModel, lora: null };
    return expectRefused('engine-refused', () =>
      this.skyrl.createModelFromCheckpoint({ ...spec, path: this.paths.state, optimizer: false }),
    );
  }

  private async snapshot(): Promise<string> {
    this.atSnapshot = await this.trained.forward(this.data);
    this.paths.snapshot = await this.trained.saveForSampling('snapshot-a');
    return this.paths.snapshot;
  }

  private async sampleBase(): Promise<string> {
    const request = greedy(this.prompt, { numSamples: 2, maxTokens: 6 });
    // Ours ends at its end-of-text beside what is named; with nothing named it never does.
    const unending = { ...request, params: { ...request.params, stop: [] } };
    const there = await this.sample(this.ours, { baseModel: OUR_MODEL }, unending);
    const here = await this.sample(this.skyrl, { baseModel: this.sites.skyrlModel }, request);
    for (const [index, { tokens, logprobs }] of here.sequences.entries()) {
      const other = there.sequences[index];
      expectEqual('tokens', tokens.join(' '), (other?.tokens ?? []).join(' '));
      expectSmall(largestDifference([logprobs ?? []], [other?.logprobs ?? []]), ROUNDING);
    }
    return here.sequences.map(({ tokens }) => tokens.join(' ')).join(' | ');
  }

  private async scorePrompt(): Promise<string> {
    return expectSmall(await this.distanceFromSnapshot(), ROUNDING);
  }

  /** SkyRL would copy the snapshot into the live model: what is trained must not change by being evaluated. */
  private async sampleOld(): Promise<string> {
    await this.trained.step(this.data);
    const before = await this.trained.forward(this.data);
    const moved = largestDifference(before, this.atSnapshot);
    if (moved < ROUNDING) throw new Error('the step after the snapshot changed nothing');
    expectSmall(await this.distanceFromSnapshot(), ROUNDING);
    return expectSmall(largestDifference(await this.trained.forward(this.data), before), SAME);
  }

  private async sampleWithout(): Promise<string> {
    await this.trained.unload();
    return expectSmall(await this.distanceFromSnapshot(), ROUNDING);
  }

  /** One that dies between a pass and its optimizer step leaves its gradients to whoever has its slot next. */
  private async beginClean(): Promise<string> {
    const careless = createTinkerClient({ baseUrl: this.sites.skyrlUrl, profile: { clearsGradients: true } });
    try {
      const without = await this.normAfterAnother(careless);
      const clean = await this.normAfterAnother(this.skyrl);
      expectSmall(Math.abs(clean / this.firstNorm - 1), ROUNDING);
      return `gradient norm ${clean.toFixed(3)}; ${without.toFixed(3)} if nothing is done about it`;
    } finally {
      await careless.close();
    }
  }

  private async normAfterAnother(client: TinkerClient): Promise<number> {
    const other = await TrainedModel.create(client, this.sites.skyrlModel);
    await other.accumulate(this.data.slice(0, 1));
    await other.unload();
    const model = await TrainedModel.create(client, this.sites.skyrlModel);
    const { metrics } = await model.step(this.data);
    await model.unload();
    return metrics[NORM] ?? 0;
  }

  private async list(): Promise<string> {
    const listed = await this.skyrl.listCheckpoints(this.trained.modelId);
    const names = listed.map(({ type, checkpointId }) => `${type} ${checkpointId}`).sort();
    expectEqual('checkpoints', names.join(), 'sampler snapshot-a,training snapshot-a-state,training state-a');
    return names.join(', ');
  }

  private async remove(): Promise<string> {
    await this.skyrl.deleteCheckpoint(this.paths.state);
    const listed = await this.skyrl.listCheckpoints(this.trained.modelId);
    const isKept = listed.some(({ checkpointId }) => checkpointId === 'state-a');
    return isKept ? 'this version deletes nothing and says nothing against it' : 'deleted';
  }

  private async digest(): Promise<string> {
    const digest = await this.skyrl.weightsDigest(this.paths.snapshot);
    if (digest === null || !/^[0-9a-f]{64}$/.test(digest)) throw new Error(String(digest));
    expectEqual('digest read again', await this.skyrl.weightsDigest(this.paths.snapshot), digest);
    return digest.slice(0, 12);
  }

  /** Between what sampling the snapshot says of a prompt and what training said of it. */
  private async distanceFromSnapshot(): Promise<number> {
    const request = greedy(this.prompt, { numSamples: 1, maxTokens: 1 });
    const source = { modelPath: this.paths.snapshot };
    const { promptLogprobs } = await this.sample(this.skyrl, source, { ...request, promptLogprobs: true });
    expectEqual('prompt log-probs', promptLogprobs?.length, this.prompt.length);
    const scored = (promptLogprobs ?? []).slice(1);
    return largestDifference([scored], [(this.atSnapshot[0] ?? []).slice(0, scored.length)]);
  }

  private async sample(
    client: TinkerClient,
    source: Parameters<TinkerClient['createSampler']>[0],
    request: SampleRequest,
  ) {
    const sampler = client.createSampler(source);
    try {
      return await sampler.sample(request);
    } finally {
      await sampler.close();
    }
  }

  private get prompt(): readonly number[] {
    return [...(this.data[0]?.tokens ?? [])];
  }

  private get trained(): TrainedModel {
    if (this.model === null) throw new Error('there is no model');
    return this.model;
  }
}

function greedy(
  prompt: readonly number[],
  { numSamples, maxTokens }: { readonly numSamples: number; readonly maxTokens: number },
): SampleRequest {
  return {
    prompt,
    numSamples,
    params: { maxTokens, temperature: 0, topK: -1, topP: 1, seed: 1, stop: [NO_TOKEN] },
  };
}

/** Sequences of different lengths with loss on their last tokens, each weighing 1. */
function makeData(): readonly Datum[] {
  const random = createRandom(7);
  return [12, 9, 17, 14].map((length) => {
    const text = Int32Array.from({ length: length + 1 }, () => 7 + Math.floor(random() * 250));
    const weights = weightsOf(length, 1);
    return { tokens: text.slice(0, -1), targetTokens: text.slice(1), lossInputs: { weights } };
  });
}

function weightsOf(length: number, total: number): Float32Array {
  return Float32Array.from({ length }, (_, index) => (index < length - 4 ? 0 : total / 4));
}
