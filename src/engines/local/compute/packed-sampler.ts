import { randomInt } from 'node:crypto';
import { checkSampleRequest, userError } from './check-request';
import { weightsLayout } from './network';
import { SamplingTask } from './sampling-task';
import { createDecode, resolveStops } from './stop-conditions';
import type { SampleRequest, SampleResult } from '../../../core/sampling';
import type { SamplerModel } from '../model-runtime';
import type { LoadedModel } from './base-model';
import type { NetworkDescription } from './network';
import type { SamplingQueue } from './sampling-queue';
import type { PackedSampler } from './sampling-task';
import type { ComputeResources } from './trainable-model';

/** Packs the weights of `network` into a block of their own and returns its description. */
export async function packNetwork(
  { heap, pool }: ComputeResources,
  network: NetworkDescription,
  arenaFloats: number,
): Promise<NetworkDescription> {
  const target = heap.allocate(weightsLayout(network.shape, true).size, 'a sampler');
  try {
    await pool.run({ kind: 'pack', input: { network, target }, arenaFloats });
  } catch (error) {
    heap.free(target);
    throw error;
  }
  return { ...network, weights: target, isPacked: true, adapter: null };
}

export class SharedMemorySampler implements SamplerModel {
  private readonly sampler: PackedSampler;
  private readonly underWay = new Set<SamplingTask>();
  private isDisposed = false;

  constructor(
    private readonly resources: ComputeResources & { readonly queue: SamplingQueue },
    private readonly base: LoadedModel,
    network: NetworkDescription,
  ) {
    this.sampler = { network, decode: createDecode(base.info.folder) };
  }

  /**
   * Log-probabilities are those of the model's distribution at the given temperature, before top-k and top-p
   * (at temperature 0, or one too small to divide by: at temperature 1). Without a seed every call draws anew.
   */
  async sample(
    request: SampleRequest,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<SampleResult> {
    if (this.isDisposed) throw userError('The sampler was closed. Create it again.');
    signal?.throwIfAborted();
    checkSampleRequest(request, this.base.shape);
    const stops = resolveStops(request.params.stop, this.base);
    const seed = request.params.seed ?? randomInt(2 ** 47);
    return new Promise((resolve, reject) => {
      const task = new SamplingTask(
        { sampler: this.sampler, request, stops, seed },
        {
          resolve: (result) => {
            leave();
            resolve(result);
          },
          reject: (error) => {
            leave();
            // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- an AbortSignal's reason may be anything
            reject(error);
          },
        },
      );
      const abort = (): void => {
        this.resources.queue.cancel(task, signal?.reason);
      };
      const leave = (): void => {
        signal?.removeEventListener('abort', abort);
        this.underWay.delete(task);
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.underWay.add(task);
      this.resources.queue.add(task);
      this.resources.pool.kick();
    });
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    const { queue, heap } = this.resources;
    queue.cancelAll(
      (sampler) => sampler === this.sampler,
      userError('The sampler was closed while it was drawing.'),
    );
    queue.whenIdle(this.sampler, () => {
      heap.free(this.sampler.network.weights);
    });
  }
}
