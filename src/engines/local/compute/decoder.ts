import { EMBEDDING, FINAL_NORM, HEAD } from './layout';
import { applyLinear } from './linear-map';
import type { Pointer } from './kernels';
import type { Activation } from './linear-map';
import type { LayerParameters, Linear, Network, Parameter } from './network';
import type { Workspace } from './workspace';

export interface Heads {
  readonly queries: Activation;
  readonly keys: Activation;
  readonly values: Activation;
}

/** How rows look at one another. */
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

interface ProjectOptions {
  /** By an operation after this one. */
  readonly isReadAgain?: boolean;
  /** Where the output's gradient will be; room of the layer's own by default. */
  readonly outputGradient?: Pointer;
}

const READ_LAST: ProjectOptions = {};
const READ_AGAIN: ProjectOptions = { isReadAgain: true };

/**
 * One pass of rows through the network. Each operation that is trained leaves its own backward step on a tape,
 * and `backward` plays the tape in reverse.
 *
 * The residual stream is a fresh buffer per addition, because the norms need its values again; its gradient is
 * one buffer, accumulated in place. Other gradients are done with when their layer is, so that layers share room for
 * them. Sampling runs the same operations in one kernel, `forwardRows`.
 */
export class Decoder {
  private readonly tape: (() => void)[] = [];
  private readonly streamGradient: Pointer;
  private readonly gradients: Pointer[] = [];
  private gradientCount = 0;

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
    for (const [index, layer] of this.network.layers.entries()) {
      this.gradientCount = 0;
      stream = this.attend(stream, layer, (heads) => attention.forward(index, heads));
      stream = this.feedForward(stream, layer);
    }
    return this.normalize(stream, this.network.parameter(FINAL_NORM));
  }

  logits(hidden: Activation): Activation {
    return this.project(hidden, this.network.linear(HEAD));
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

  private attend(
    stream: Pointer,
    layer: LayerParameters,
    look: (heads: Heads) => ReturnType<Attention['forward']>,
  ): Pointer {
    const input = this.normalize(stream, layer.inputNorm);
    const queries = this.project(input, layer.queries, READ_AGAIN);
    const keys = this.project(input, layer.keys, READ_AGAIN);
    const values = this.project(input, layer.values);
    this.rotate(keys, this.network.shape.keyHeads);
    this.rotate(queries, this.network.shape.heads);
    const { output, backward } = look({ queries, keys, values });
    if (this.options.isTraining) this.tape.push(backward);
    return this.addToStream(stream, output, layer.attended);
  }

  private feedForward(stream: Pointer, layer: LayerParameters): Pointer {
    const { kernels } = this.space;
    const input = this.normalize(stream, layer.feedForwardNorm);
    const gate = this.project(input, layer.gate, READ_AGAIN);
    const up = this.project(input, layer.up);
    const count = this.options.rows * this.network.shape.feedForward;
    const gated = this.activation(count);
    const sigmoids = this.options.isTraining ? this.space.allocate(count) : 0;
    kernels.swigluForward(count, gate.value, up.value, gated.value, sigmoids);
    if (this.options.isTraining) {
      this.tape.push(() => {
        kernels.swigluBackward(
          count,
          gate.value,
          up.value,
          sigmoids,
          gated.gradient,
          gate.gradient,
          up.gradient,
        );
      });
    }
    return this.addToStream(stream, gated, layer.down);
  }

  private activation(count: number): Activation {
    const value = this.space.allocate(count);
    return { value, gradient: this.gradient(count) };
  }

  /** The n-th of a layer is where the n-th of the other layers is: they ask for the same in the same order. */
  private gradient(count: number): Pointer {
    if (!this.options.isTraining) return 0;
    const index = this.gradientCount++;
    return (this.gradients[index] ??= this.space.allocate(count));
  }

  private project(input: Activation, linear: Linear, options: ProjectOptions = READ_LAST): Activation {
    const { output, backward } = applyLinear(this.space, linear, {
      value: input.value,
      gradient: input.gradient,
      rows: this.options.rows,
      isReadAgain: options.isReadAgain ?? false,
      outputGradient: options.outputGradient ?? this.gradient(this.options.rows * linear.outputs),
    });
    if (backward !== null) this.tape.push(backward);
    return output;
  }

  private normalize(stream: Pointer, weight: Parameter): Activation {
    const { kernels } = this.space;
    const { rows, isTraining } = this.options;
    const { width, normEpsilon } = this.network.shape;
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

  /** What is added to the stream has the stream's gradient. */
  private addToStream(stream: Pointer, input: Activation, linear: Linear): Pointer {
    const count = this.options.rows * this.network.shape.width;
    const change = this.project(input, linear, { outputGradient: this.streamGradient });
    const next = this.space.allocate(count);
    this.space.kernels.sum(count, next, stream, change.value);
    return next;
  }
}
