/** One model at one training service, driven in the smallest units of the protocol. */
import type { Datum } from '../../../src/core/datum';
import type { TinkerClient } from '../../../src/engines/tinker/client';

interface ModelPlace {
  readonly client: TinkerClient;
  readonly sessionId: string;
  readonly modelId: string;
  readonly nextSeqId: number;
}

const RANK = 8;
const SEED = 1;
const ADAM = { learningRate: 0.002, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, gradClipNorm: 0 };

export class TrainedModel {
  readonly modelId: string;
  private nextSeqId: number;

  private constructor(private readonly place: ModelPlace) {
    this.modelId = place.modelId;
    this.nextSeqId = place.nextSeqId;
  }

  static async create(client: TinkerClient, baseModel: string): Promise<TrainedModel> {
    const sessionId = await client.createSession();
    const lora = { rank: RANK, seed: SEED };
    const { modelId } = await client.createModel({ sessionId, modelSeqId: 0, baseModel, lora });
    return new TrainedModel({ client, sessionId, modelId, nextSeqId: 1 });
  }

  /** Another model of the same session, with this one's saved weights and optimizer. */
  async restore(baseModel: string, path: string): Promise<TrainedModel> {
    const { client, sessionId } = this.place;
    const spec = { sessionId, modelSeqId: 1, baseModel, lora: { rank: RANK, seed: SEED + 1 }, path };
    const opened = await client.createModelFromCheckpoint({ ...spec, optimizer: true });
    return new TrainedModel({ client, sessionId, ...opened });
  }

  async forward(data: readonly Datum[]): Promise<readonly Float32Array[]> {
    const spec = { ...this.next(), data, lossFn: 'cross_entropy', forwardOnly: true } as const;
    const { client } = this.place;
    return (await client.collectForwardBackward(await client.submitForwardBackward(spec))).logprobs;
  }

  /** One step of AdamW; the log-probs before it and what the optimizer said. */
  async step(data: readonly Datum[], gradClipNorm = 0) {
    const { client } = this.place;
    const spec = { ...this.next(), data, lossFn: 'cross_entropy' } as const;
    const pass = await client.submitForwardBackward(spec);
    const update = await client.submitOptimStep({ ...this.next(), adam: { ...ADAM, gradClipNorm } });
    const { logprobs } = await client.collectForwardBackward(pass);
    return { logprobs, metrics: await client.collectOptimStep(update) };
  }

  /** A pass whose gradients no optimizer step takes up. */
  async accumulate(data: readonly Datum[]): Promise<void> {
    const { client } = this.place;
    const spec = { ...this.next(), data, lossFn: 'cross_entropy' } as const;
    await client.collectForwardBackward(await client.submitForwardBackward(spec));
  }

  async save(name: string): Promise<string> {
    const { client } = this.place;
    return (await client.collectSave(await client.submitSaveWeights({ ...this.next(), name }))).path;
  }

  async saveForSampling(name: string): Promise<string> {
    const { client } = this.place;
    const ref = await client.submitSaveWeightsForSampler({ ...this.next(), name });
    return (await client.collectSave(ref)).path;
  }

  unload(): Promise<void> {
    return this.place.client.unloadModel(this.modelId);
  }

  private next(): { readonly modelId: string; readonly seqId: number } {
    return { modelId: this.modelId, seqId: this.nextSeqId++ };
  }
}

/** −Σ w·log p ÷ Σ w over all positions. */
export function meanNll(data: readonly Datum[], logprobs: readonly Float32Array[]): number {
  let nll = 0;
  let total = 0;
  data.forEach(({ lossInputs }, row) => {
    lossInputs['weights']?.forEach((weight, index) => {
      nll -= weight * (logprobs[row]?.[index] ?? Number.NaN);
      total += weight;
    });
  });
  return nll / total;
}

export function largestDifference(
  some: readonly ArrayLike<number | null>[],
  others: readonly ArrayLike<number | null>[],
): number {
  const differences = some.flatMap((row, index) =>
    Array.from(row, (value, place) =>
      Math.abs((value ?? Number.NaN) - (others[index]?.[place] ?? Number.NaN)),
    ),
  );
  const isComplete = some.length === others.length && differences.every((value) => !Number.isNaN(value));
  return isComplete ? Math.max(...differences) : Number.POSITIVE_INFINITY;
}
