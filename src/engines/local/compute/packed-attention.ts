import { largestOf } from '../../../core/extremes';
import { attentionScratchFloats, lineOf } from './working-memory';
import type { Attention, Heads } from './decoder';
import type { Kernels, Pointer } from './kernels';
import type { Network } from './network';
import type { Workspace } from './workspace';

interface Sequence {
  readonly start: number;
  readonly length: number;
}

/** Causal attention within each of several sequences laid end to end. */
export class PackedAttention implements Attention {
  private readonly scratch: Pointer;
  /** One for all layers: each is done with it when the next one comes. */
  private readonly gradient: Pointer;
  private readonly starts: readonly { readonly start: number; readonly length: number }[];

  constructor(
    private readonly space: Workspace,
    private readonly network: Network,
    private readonly options: {
      readonly lengths: readonly number[];
      readonly rows: number;
      readonly isTraining: boolean;
    },
  ) {
    let next = 0;
    this.starts = options.lengths.map((length) => {
      const start = next;
      next += length;
      return { start, length };
    });
    this.scratch = space.allocate(
      attentionScratchFloats(network.shape, Math.max(0, largestOf(options.lengths))),
    );
    this.gradient = options.isTraining ? space.allocate(options.rows * network.shape.width) : 0;
  }

  forward(_layer: number, heads: Heads): ReturnType<Attention['forward']> {
    const { gradient } = this;
    const value = this.space.allocate(this.options.rows * this.network.shape.width);
    const probabilities = this.starts.map((sequence) => this.attend(sequence, heads, value));
    const backward = (): void => {
      for (const [index, sequence] of this.starts.entries()) {
        this.attendBackward(sequence, heads, { gradient, probabilities: probabilities[index] ?? 0 });
      }
    };
    return { output: { value, gradient }, backward };
  }

  private attend({ start, length }: Sequence, { queries, keys, values }: Heads, output: Pointer): Pointer {
    const { heads, keyHeads, headWidth } = this.network.shape;
    const query = start * heads * headWidth * 4;
    const key = start * keyHeads * headWidth * 4;
    const probabilities = this.space.allocate(heads * length * lineOf(length));
    this.space.kernels.attentionForward(
      length,
      heads,
      keyHeads,
      headWidth,
      queries.value + query,
      keys.value + key,
      values.value + key,
      output + query,
      probabilities,
      lineOf(length),
      this.scratch,
    );
    return probabilities;
  }

  private attendBackward(
    { start, length }: Sequence,
    { queries, keys, values }: Heads,
    { gradient, probabilities }: { readonly gradient: Pointer; readonly probabilities: Pointer },
  ): void {
    const { heads, keyHeads, headWidth } = this.network.shape;
    const query = start * heads * headWidth * 4;
    const key = start * keyHeads * headWidth * 4;
    const kernels: Kernels = this.space.kernels;
    kernels.attentionBackward(
      length,
      heads,
      keyHeads,
      headWidth,
      queries.value + query,
      keys.value + key,
      values.value + key,
      probabilities,
      lineOf(length),
      gradient + query,
      queries.gradient + query,
      keys.gradient + key,
      values.gradient + key,
      this.scratch,
    );
  }
}
