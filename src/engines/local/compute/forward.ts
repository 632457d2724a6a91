import { EMBEDDING, FINAL_NORM, HEAD } from './layout';
import { keyWidth } from './model-shape';
import { forwardScratchFloats } from './working-memory';
import type { Pointer } from './kernels';
import type { ModelShape } from './model-shape';
import type { Linear, Network } from './network';
import type { Workspace } from './workspace';

/** Rows in tables of int32: each a token at a position of the sequence that a cache belongs to. */
export interface RowTables {
  readonly count: number;
  readonly tokens: Pointer;
  readonly positions: Pointer;
  /** Byte addresses. */
  readonly caches: Pointer;
}

export interface Row {
  readonly cache: Pointer;
  readonly position: number;
  readonly token: number;
}

/**
 * Floats of cache one position takes: keys and values of every layer. The odd number of cache lines keeps positions
 * that are a power of two apart from evicting one another.
 */
export function cacheFloatsPerPosition(shape: ModelShape): number {
  return shape.layers * 2 * keyWidth(shape) + 16;
}

/**
 * The forward pass of a packed network, for sampling: rows store their keys and values in their sequence's cache, then
 * attend to all that came before. A row's numbers do not depend on the rows beside it.
 */
export class Forward {
  private readonly plan: Pointer;
  private readonly head: Linear;

  constructor(
    private readonly space: Workspace,
    private readonly network: Network,
  ) {
    this.plan = writePlan(space, network);
    this.head = network.linear(HEAD);
  }

  tables(rows: readonly Row[]): RowTables {
    return {
      count: rows.length,
      tokens: this.space.storeIntegers(rows.map(({ token }) => token)),
      positions: this.space.storeIntegers(rows.map(({ position }) => position)),
      caches: this.space.storeIntegers(rows.map(({ cache }) => cache)),
    };
  }

  /** Leaves in the caches what later rows look at, and nothing else. */
  remember(rows: RowTables): void {
    this.run(rows, { isRemembered: true });
  }

  logits(rows: RowTables): Pointer {
    const { weight, inputs, outputs } = this.head;
    const hidden = this.run(rows, { isRemembered: false });
    const logits = this.space.allocate(rows.count * outputs);
    this.space.kernels.matrixProduct(rows.count, outputs, inputs, hidden, inputs, weight, logits, outputs, 0);
    return logits;
  }

  private run(
    { count, tokens, positions, caches }: RowTables,
    { isRemembered }: { readonly isRemembered: boolean },
  ): Pointer {
    const scratch = this.space.allocate(forwardScratchFloats(this.network.shape, count));
    const remembered = isRemembered ? 1 : 0;
    return this.space.kernels.forwardRows(this.plan, count, tokens, positions, caches, remembered, scratch);
  }
}

/** Where the parts of a network are, in the order that `Plan` and `Layer` of `../kernels/forward.ts` say. */
function writePlan(space: Workspace, network: Network): Pointer {
  const { shape, description } = network;
  const layers = network.layers.flatMap((layer) => [
    layer.inputNorm.pointer,
    layer.queries.weight,
    layer.keys.weight,
    layer.values.weight,
    layer.attended.weight,
    layer.feedForwardNorm.pointer,
    layer.gate.weight,
    layer.up.weight,
    layer.down.weight,
  ]);
  const head = [shape.width, shape.layers, shape.heads, shape.keyHeads, shape.headWidth, shape.feedForward];
  const places = [
    cacheFloatsPerPosition(shape) * 4,
    description.rotations,
    description.rotations + (shape.contextLength * shape.headWidth * 4) / 2,
    network.parameter(EMBEDDING).pointer,
    network.parameter(FINAL_NORM).pointer,
  ];
  const plan = space.storeIntegers([...head, 0, ...places, ...layers]);
  space.floats[plan / 4 + head.length] = shape.normEpsilon;
  return plan;
}
