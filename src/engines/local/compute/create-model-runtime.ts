import { availableParallelism } from 'node:os';
import path from 'node:path';
import { DomainError } from '../../../core/errors';
import { addNamedModels, findModels, loadModel } from './base-model';
import { checkLora } from './check-request';
import { trainableLayout } from './network';
import { packNetwork, SharedMemorySampler } from './packed-sampler';
import { SamplingQueue } from './sampling-queue';
import { SharedHeap } from './shared-heap';
import { checkTensors, importTensors } from './tensor-blocks';
import { ThreadPool } from './thread-pool';
import { SharedMemoryModel } from './trainable-model';
import { floatsForPacking } from './working-memory';
import type { LoraConfig, ModelRuntime, NamedTensor, SamplerModel, TrainableModel } from '../model-runtime';
import type { FoundModel, LoadedModel, NamedModel } from './base-model';
import type { KernelChoice } from './kernels';
import type { NetworkDescription } from './network';

export interface ModelRuntimeOptions {
  /** Compute threads; one a core by default, at most 8. */
  readonly threads?: number;
  /** Model folders, or folders of them; the models that come with the package by default. */
  readonly modelsFolders?: readonly string[];
  /** Further models, under these names. */
  readonly namedModels?: readonly NamedModel[];
  /** `plain` computes the same bits on machines with and without fused multiply-add. */
  readonly kernels?: KernelChoice;
  /** All weights, gradients and caches fit in this; at most and by default 1024. */
  readonly memoryMegabytes?: number;
}

const MOST_THREADS = 8;
/** The package's root, from `src` and from `dist` alike. */
const OWN_MODELS = path.join(__dirname, '../../../../models');

export async function createModelRuntime(options: ModelRuntimeOptions = {}): Promise<ModelRuntime> {
  const threads = options.threads ?? Math.min(MOST_THREADS, availableParallelism());
  if (!Number.isInteger(threads) || threads < 1) {
    throw new DomainError('bad-config', `The local engine cannot run on ${threads} threads. Use 1 or more.`);
  }
  const models = findModels(options.modelsFolders ?? [OWN_MODELS]);
  return new SharedMemoryRuntime(addNamedModels(models, options.namedModels ?? []), { ...options, threads });
}

class SharedMemoryRuntime implements ModelRuntime {
  private readonly heap: SharedHeap;
  private readonly queue: SamplingQueue;
  private readonly pool: ThreadPool;
  private readonly loaded = new Map<string, LoadedModel>();

  constructor(
    private readonly models: ReadonlyMap<string, FoundModel>,
    options: ModelRuntimeOptions & { readonly threads: number },
  ) {
    this.heap = new SharedHeap(options.memoryMegabytes ?? 1024);
    this.queue = new SamplingQueue(this.heap, options.threads);
    this.pool = new ThreadPool(this.heap, this.queue, {
      threads: options.threads,
      kernels: options.kernels ?? 'auto',
    });
  }

  get baseModels(): ModelRuntime['baseModels'] {
    return [...this.models.values()].map(({ info }) => info);
  }

  async createModel({
    baseModel,
    lora,
  }: Parameters<ModelRuntime['createModel']>[0]): Promise<TrainableModel> {
    if (lora !== null) checkLora(lora);
    return new SharedMemoryModel({ heap: this.heap, pool: this.pool }, this.load(baseModel), lora);
  }

  async createSampler(options: Parameters<ModelRuntime['createSampler']>[0]): Promise<SamplerModel> {
    if (options.lora !== null) checkLora(options.lora);
    const base = this.load(options.baseModel);
    const network: NetworkDescription = {
      shape: base.shape,
      weights: base.weights,
      isPacked: false,
      rotations: base.rotations,
      adapter: null,
    };
    const resources = { heap: this.heap, pool: this.pool, queue: this.queue };
    const packed =
      options.weights === null
        ? await packNetwork(resources, network, floatsForPacking(network))
        : await this.packWeights(network, options.lora, options.weights);
    return new SharedMemorySampler(resources, base, packed);
  }

  async close(): Promise<void> {
    const closed = new DomainError('request-failed', 'The local engine was closed.', { category: 'server' });
    this.queue.cancelAll(() => true, closed);
    await this.pool.close();
  }

  /** The given weights live in shared memory only until they are packed. */
  private async packWeights(
    base: NetworkDescription,
    lora: LoraConfig | null,
    weights: readonly NamedTensor[],
  ): Promise<NetworkDescription> {
    const targets = lora && {
      rank: lora.rank,
      trainAttn: lora.trainAttn,
      trainMlp: lora.trainMlp,
      trainUnembed: lora.trainUnembed,
    };
    const layout = trainableLayout(base.shape, targets);
    checkTensors(layout, weights);
    const block = this.heap.allocate(layout.size, 'the weights of a sampler');
    try {
      importTensors(this.heap.view(block, layout.size), layout, weights);
      const network =
        targets === null ? { ...base, weights: block } : { ...base, adapter: { targets, weights: block } };
      return await packNetwork({ heap: this.heap, pool: this.pool }, network, floatsForPacking(network));
    } finally {
      this.heap.free(block);
    }
  }

  private load(name: string): LoadedModel {
    const known = this.loaded.get(name);
    if (known !== undefined) return known;
    const found = this.models.get(name);
    if (found === undefined) {
      throw new DomainError(
        'unknown-model',
        `Unknown base model "${name}". Known: ${[...this.models.keys()].join(', ') || 'none'}.`,
        { category: 'user' },
      );
    }
    const model = loadModel(this.heap, found);
    this.loaded.set(name, model);
    return model;
  }
}
