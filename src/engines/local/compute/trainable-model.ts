import { largestOf } from '../../../core/extremes';
import { checkAdam, checkData, checkLoss, userError } from './check-request';
import { trainableLayout } from './network';
import { cutBatch, joinDatums } from './slice-batch';
import { checkTensors, exportTensors, importTensors, initializeAdapter } from './tensor-blocks';
import { floatsForAttention, floatsForPass } from './working-memory';
import type { DomainError } from '../../../core/errors';
import type { AdamParams, Datum, ForwardBackwardResult } from '../../../core/datum';
import type { LoraConfig, LossSpec, ModelState, TrainableModel } from '../model-runtime';
import type { LoadedModel } from './base-model';
import type { Pointer } from './kernels';
import type { Layout } from './layout';
import type { NetworkDescription } from './network';
import type { SharedHeap } from './shared-heap';
import type { ThreadPool } from './thread-pool';
import type { BatchSlice, LossSettings, TrainSliceOutput } from './train-slice';

/** Slices computed before their gradients are added up; more only cost memory. */
const MOST_GRADIENT_BLOCKS = 8;
/** Of a forward pass, which keeps nothing: so many that their threads seldom wait for each other. */
const MOST_EVALUATED_SLICES = 256;
const GRADIENT_BLOCKS_FLOATS = 24 * 2 ** 20;

interface Blocks {
  readonly weights: Pointer;
  readonly gradients: Pointer;
  readonly firstMoment: Pointer;
  readonly secondMoment: Pointer;
}

export interface ComputeResources {
  readonly heap: SharedHeap;
  readonly pool: ThreadPool;
}

/** Weights in training: an adapter over a shared base model, or a full copy of it. */
export class SharedMemoryModel implements TrainableModel {
  private readonly layout: Layout;
  private readonly blocks: Blocks;
  private readonly network: NetworkDescription;
  private readonly sliceGradients: Pointer[] = [];
  private step = 0;
  private tail: Promise<unknown> = Promise.resolve();
  private isDisposed = false;

  constructor(
    private readonly resources: ComputeResources,
    private readonly base: LoadedModel,
    lora: LoraConfig | null,
  ) {
    const targets = lora && {
      rank: lora.rank,
      trainAttn: lora.trainAttn,
      trainMlp: lora.trainMlp,
      trainUnembed: lora.trainUnembed,
    };
    this.layout = trainableLayout(base.shape, targets);
    this.blocks = this.allocateBlocks();
    this.network = {
      shape: base.shape,
      weights: targets === null ? this.blocks.weights : base.weights,
      isPacked: false,
      rotations: base.rotations,
      adapter: targets && { targets, weights: this.blocks.weights },
    };
    this.resetBlocks();
    const weights = this.view(this.blocks.weights);
    if (lora === null) weights.set(resources.heap.view(base.weights, this.layout.size));
    else initializeAdapter(weights, this.layout, lora.seed);
  }

  async forwardBackward(
    data: readonly Datum[],
    loss: LossSpec,
    { backward }: { readonly backward: boolean },
  ): Promise<ForwardBackwardResult> {
    const settings = checkLoss(loss);
    checkData(data, settings, this.base.shape);
    const lengths = data.map((datum) => datum.targetTokens.length);
    const outputs = await this.enqueue(() => this.runWaves(cutBatch(data), settings, backward));
    return {
      logprobs: splitLogprobs(outputs, lengths),
      metrics: { 'loss:sum': outputs.reduce((total, output) => total + output.loss, 0) },
    };
  }

  async optimStep(adam: AdamParams): Promise<Readonly<Record<string, number>>> {
    checkAdam(adam);
    return this.enqueue(async () => {
      const step = this.step + 1;
      const { gradNorm, isApplied } = await this.resources.pool.run({
        kind: 'optimize',
        input: { ...this.blocks, ...adam, count: this.layout.size, step },
        arenaFloats: 0,
      });
      if (!isApplied) throw notFinite(adam, gradNorm);
      this.step = step;
      return { grad_norm: gradNorm };
    });
  }

  async exportState({ optimizer }: { readonly optimizer: boolean }): Promise<ModelState> {
    return this.enqueue(async () => {
      const read = (pointer: Pointer) => exportTensors(this.view(pointer), this.layout);
      return {
        weights: read(this.blocks.weights),
        optimizer: optimizer
          ? {
              step: this.step,
              firstMoment: read(this.blocks.firstMoment),
              secondMoment: read(this.blocks.secondMoment),
            }
          : null,
      };
    });
  }

  async importState({ weights, optimizer }: ModelState): Promise<void> {
    checkTensors(this.layout, weights);
    if (optimizer !== null) {
      checkTensors(this.layout, optimizer.firstMoment);
      checkTensors(this.layout, optimizer.secondMoment);
      if (!Number.isInteger(optimizer.step) || optimizer.step < 0)
        throw userError('The optimizer step is not a whole number.');
    }
    return this.enqueue(async () => {
      this.resetBlocks();
      importTensors(this.view(this.blocks.weights), this.layout, weights);
      this.step = optimizer?.step ?? 0;
      if (optimizer === null) return;
      importTensors(this.view(this.blocks.firstMoment), this.layout, optimizer.firstMoment);
      importTensors(this.view(this.blocks.secondMoment), this.layout, optimizer.secondMoment);
    });
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    void this.tail.then(() => {
      for (const pointer of [...this.ownBlocks(), ...this.sliceGradients]) this.resources.heap.free(pointer);
    });
  }

  /** Runs after all that was asked before. The tail never rejects, so one failure does not stop the next call. */
  private async enqueue<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.isDisposed) throw userError('The model was unloaded. Create it again.');
    const result = this.tail.then(run);
    this.tail = result.catch(() => undefined);
    return result;
  }

  /**
   * Waves bound the memory, and how much is copied for the threads at a time. The sum runs over the slices in order, so where a wave ends
   * makes no difference.
   */
  private async runWaves(
    batch: readonly (readonly Datum[])[],
    loss: LossSettings,
    backward: boolean,
  ): Promise<TrainSliceOutput[]> {
    const waveSize = backward ? this.reserveSliceGradients(batch.length) : MOST_EVALUATED_SLICES;
    const outputs: TrainSliceOutput[] = [];
    for (let start = 0; start < batch.length; start += waveSize) {
      const slices = batch.slice(start, start + waveSize).map((data) => joinDatums(data, loss));
      const gradients = backward ? this.sliceGradients.slice(0, slices.length) : null;
      for (const output of await this.runSlices(slices, loss, gradients)) outputs.push(output);
      if (gradients) await this.addGradients(gradients);
    }
    return outputs;
  }

  /** One job a thread, which takes slice after slice: a message for each slice would cost as much as a small one. */
  private async runSlices(
    slices: readonly BatchSlice[],
    loss: LossSettings,
    gradients: readonly Pointer[] | null,
  ): Promise<TrainSliceOutput[]> {
    const { network } = this;
    const { heap, pool } = this.resources;
    const isTraining = gradients !== null;
    const arenaFloats = largestOf(
      slices.map(
        ({ tokens, lengths }) =>
          floatsForPass(network, { rows: tokens.length, isTraining }) + floatsForAttention(network, lengths),
      ),
    );
    const counter = heap.allocate(1, 'a counter');
    heap.view(counter, 1).fill(0);
    const input = { network, slices, loss, gradients, counter };
    const jobs = Array.from({ length: Math.min(pool.size, slices.length) }, async () =>
      pool.run({ kind: 'trainSlices', input, arenaFloats }),
    );
    // All have ended before the counter and the gradients are used again, also when one fails.
    await Promise.allSettled(jobs);
    heap.free(counter);
    const done = (await Promise.all(jobs)).flat();
    return done.sort((left, right) => left.index - right.index);
  }

  private async addGradients(sources: readonly Pointer[]): Promise<void> {
    const { pool } = this.resources;
    const share = Math.ceil(this.layout.size / pool.size / 16) * 16;
    const starts = Array.from({ length: pool.size }, (_, index) => index * share).filter(
      (start) => start < this.layout.size,
    );
    await Promise.all(
      starts.map((start) =>
        pool.run({
          kind: 'addRange',
          input: {
            target: this.blocks.gradients + start * 4,
            sources: sources.map((source) => source + start * 4),
            count: Math.min(share, this.layout.size - start),
          },
          arenaFloats: 0,
        }),
      ),
    );
  }

  private reserveSliceGradients(sliceCount: number): number {
    const most = Math.max(this.resources.pool.size, Math.floor(GRADIENT_BLOCKS_FLOATS / this.layout.size));
    const waveSize = Math.min(sliceCount, most, MOST_GRADIENT_BLOCKS);
    while (this.sliceGradients.length < waveSize) {
      this.sliceGradients.push(this.resources.heap.allocate(this.layout.size, 'gradients'));
    }
    return waveSize;
  }

  private allocateBlocks(): Blocks {
    const { heap } = this.resources;
    const pointers: Pointer[] = [];
    try {
      for (const purpose of ['weights', 'gradients', 'optimizer state', 'optimizer state']) {
        pointers.push(heap.allocate(this.layout.size, purpose));
      }
    } catch (error) {
      for (const pointer of pointers) heap.free(pointer);
      throw error;
    }
    const [weights = 0, gradients = 0, firstMoment = 0, secondMoment = 0] = pointers;
    return { weights, gradients, firstMoment, secondMoment };
  }

  private resetBlocks(): void {
    for (const pointer of this.ownBlocks()) this.view(pointer).fill(0);
  }

  private ownBlocks(): Pointer[] {
    const { weights, gradients, firstMoment, secondMoment } = this.blocks;
    return [weights, gradients, firstMoment, secondMoment];
  }

  private view(pointer: Pointer): Float32Array {
    return this.resources.heap.view(pointer, this.layout.size);
  }
}

function notFinite({ learningRate }: AdamParams, gradNorm: number): DomainError {
  return userError(
    `The optimizer step was not applied, because its result would not be finite (learning_rate ${learningRate}, grad_norm ${gradNorm}). Weights and moments are as before, the gradients are cleared. Use a smaller learning_rate, or grad_clip_norm.`,
  );
}

function splitLogprobs(outputs: readonly TrainSliceOutput[], lengths: readonly number[]): Float32Array[] {
  const parts: Float32Array[] = [];
  const remaining = lengths.values();
  for (const { logprobs } of outputs) {
    for (let start = 0; start < logprobs.length;) {
      const length = Number(remaining.next().value);
      parts.push(logprobs.slice(start, start + length));
      start += length;
    }
  }
  return parts;
}
