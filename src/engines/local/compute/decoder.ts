import { EMBEDDING, FINAL_NORM, HEAD, layerPath } from './layout';
import { applyLinear } from './linear-map';
import type { Pointer } from './kernels';
import type { Activation } from './linear-map';
import type { Network } from './network';
import type { Workspace } from './workspace';

export interface Heads {
  readonly queries: Activation;
  readonly keys: Activation;
  readonly values: Activation;
}

/** How rows look at one another: within packed sequences when training, through caches when sampling. */
export interface Attention {
  forward(layer: number, heads: Heads): { readonly output: Activation; readonly backward: () => void };
}

export interface DecoderInput {
  /** int32 */
  readonly tokens: Pointer;
  /** int32 */
  readonly positions: Pointer;
  readonly rows: number;
}

/**
 * One pass of rows through the network. Each operation that is trained leaves its own backward step on a tape,
 * and `backward` plays the tape in reverse.
 *
 * The residual stream is a fresh buffer per addition, because the norms need its values again; its gradient is
 * one buffer, accumulated in place.
 */
export class Decoder {
  private readonly tape: (() => void)[] = [];
  private readonly streamGradient: Pointer;

  constructor(
    private readonly space: Workspace,
    private readonly network: Network,
    private readonly options: DecoderInput & { readonly isTraining: boolean },
  ) {
    const { isTraining, rows } = options;
    this.streamGradient = isTraining ? space.allocateZeroed(rows * network.shape.width) : 0;
  }

  /** The final hidden states, before the output head. */
  run(attention: Attention): Activation {
    let stream = this.embed();
    for (let layer = 0; layer < this.network.shape.layers; layer++) {
      stream = this.attend(layer, stream, attention);
      stream = this.feedForward(layer, stream);
    }
    return this.normalize(stream, FINAL_NORM);
  }

  logits(hidden: Activation): Activation {
    return this.project(hidden, HEAD);
  }

  backward(): void {
    for (const step of this.tape.toReversed()) step();
  }

  private embed(): Pointer {
    const { kernels } = this.space;
    const { rows, tokens, isTraining } = this.options;
    const { width } = this.network.shape;
    const table = this.network.parameter(EMBEDDING);
    const stream = this.space.allocate(rows * width);
    kernels.gatherRows(rows, width, tokens, table.pointer, stream);
    if (isTraining && table.gradient !== 0) {
      this.tape.push(() => {
        kernels.scatterRows(rows, width, tokens, this.streamGradient, table.gradient);
      });
    }
    return stream;
  }

  private attend(layer: number, stream: Pointer, attention: Attention): Pointer {
    const path = layerPath(layer);
    const input = this.normalize(stream, `${path}.input_layernorm.weight`);
    const queries = this.project(input, `${path}.self_attn.q_proj`);
    const keys = this.project(input, `${path}.self_attn.k_proj`);
    const values = this.project(input, `${path}.self_attn.v_proj`);
    this.rotate(queries, this.network.shape.heads);
    this.rotate(keys, this.network.shape.keyHeads);
    const { output, backward } = attention.forward(layer, { queries, keys, values });
    if (this.options.isTraining) this.tape.push(backward);
    return this.addToStream(stream, this.project(output, `${path}.self_attn.o_proj`));
  }

  private feedForward(layer: number, stream: Pointer): Pointer {
    const { kernels } = this.space;
    const path = layerPath(layer);
    const input = this.normalize(stream, `${path}.post_attention_layernorm.weight`);
    const gate = this.project(input, `${path}.mlp.gate_proj`);
    const up = this.project(input, `${path}.mlp.up_proj`);
    const count = this.options.rows * this.network.shape.feedForward;
    const gated = this.activation(count);
    kernels.swigluForward(count, gate.value, up.value, gated.value);
    if (this.options.isTraining) {
      this.tape.push(() => {
        kernels.swigluBackward(count, gate.value, up.value, gated.gradient, gate.gradient, up.gradient);
      });
    }
    return this.addToStream(stream, this.project(gated, `${path}.mlp.down_proj`));
  }

  private activation(count: number): Activation {
    const value = this.space.allocate(count);
    return { value, gradient: this.options.isTraining ? this.space.allocateZeroed(count) : 0 };
  }

  private project(input: Activation, path: string): Activation {
    const { output, backward } = applyLinear(this.space, this.network.linear(path), {
      ...input,
      rows: this.options.rows,
    });
    if (this.options.isTraining) this.tape.push(backward);
    return output;
  }

  private normalize(stream: Pointer, name: string): Activation {
    const { kernels } = this.space;
    const { rows, isTraining } = this.options;
    const { width, normEpsilon } = this.network.shape;
    const weight = this.network.parameter(name);
    const output = this.activation(rows * width);
    const inverses = this.space.allocate(rows);
    kernels.normForward(rows, width, stream, weight.pointer, output.value, inverses, normEpsilon);
    if (isTraining) {
      this.tape.push(() => {
        kernels.normBackward(
          rows,
          width,
          stream,
          weight.pointer,
          inverses,
          output.gradient,
          this.streamGradient,
          weight.gradient,
        );
      });
    }
    return output;
  }

  private rotate(activation: Activation, heads: number): void {
    const { kernels } = this.space;
    const { rows, positions, isTraining } = this.options;
    const { headWidth, contextLength } = this.network.shape;
    const cosines = this.network.description.rotations;
    const sines = cosines + (contextLength * headWidth * 4) / 2;
    kernels.rotate(rows, heads, headWidth, positions, cosines, sines, activation.value, 1);
    if (isTraining) {
      this.tape.push(() => {
        kernels.rotate(rows, heads, headWidth, positions, cosines, sines, activation.gradient, -1);
      });
    }
  }

  private addToStream(stream: Pointer, change: Activation): Pointer {
    const { kernels } = this.space;
    const count = this.options.rows * this.network.shape.width;
    const next = this.space.allocate(count);
    kernels.sum(count, next, stream, change.value);
    if (this.options.isTraining) {
      this.tape.push(() => {
        kernels.copy(count, change.gradient, this.streamGradient);
      });
    }
    return next;
  }
}
