import type { Pointer } from './kernels';
import type { AdapterMatrices, Linear } from './network';
import type { Workspace } from './workspace';

/** Rows of one width, and their gradient (0 when nothing is trained). */
export interface Activation {
  readonly value: Pointer;
  readonly gradient: Pointer;
}

/** What `sumOfRowProducts` packs at a time, in floats. */
export function rowProductsScratchFloats(columns: number): number {
  return 256 * (columns + 16);
}

interface Product {
  readonly rows: number;
  readonly input: Pointer;
  readonly output: Pointer;
  readonly isAdded: boolean;
}

/** output = input · weightᵀ, the weight being `outputs` x `inputs`. */
function multiplyByTranspose(space: Workspace, product: Product, weight: MatrixView): void {
  const { kernels } = space;
  space.scratch(() => {
    const panels = weight.isPacked ? weight.pointer : space.allocate(weight.rows * weight.columns);
    if (!weight.isPacked)
      kernels.packColumns(weight.columns, weight.rows, weight.pointer, weight.columns, panels);
    kernels.matrixProduct(
      product.rows,
      weight.rows,
      weight.columns,
      product.input,
      weight.columns,
      panels,
      product.output,
      weight.rows,
      product.isAdded ? 1 : 0,
    );
  });
}

/** output = input · weight: how a gradient passes back through the map. */
function multiply(space: Workspace, product: Product, weight: MatrixView): void {
  const { kernels } = space;
  space.scratch(() => {
    const panels = space.allocate(weight.rows * weight.columns);
    kernels.packRows(weight.rows, weight.columns, weight.pointer, weight.columns, panels);
    kernels.matrixProduct(
      product.rows,
      weight.columns,
      weight.rows,
      product.input,
      weight.rows,
      panels,
      product.output,
      weight.columns,
      product.isAdded ? 1 : 0,
    );
  });
}

/** gradient = outputGradientᵀ · input, summed over the rows. */
function multiplyRows(
  space: Workspace,
  { rows, input, output }: Pick<Product, 'rows' | 'input' | 'output'>,
  gradient: MatrixView,
): void {
  space.scratch(() => {
    const scratch = space.allocate(rowProductsScratchFloats(gradient.columns));
    space.kernels.sumOfRowProducts(
      rows,
      gradient.rows,
      gradient.columns,
      output,
      input,
      gradient.pointer,
      scratch,
    );
  });
}

interface MatrixView {
  readonly pointer: Pointer;
  readonly rows: number;
  readonly columns: number;
  readonly isPacked?: boolean;
}

function views(linear: Linear, { rank, a, b }: AdapterMatrices): { a: MatrixView; b: MatrixView } {
  return {
    a: { pointer: a, rows: rank, columns: linear.inputs },
    b: { pointer: b, rows: linear.outputs, columns: rank },
  };
}

interface LinearInput extends Activation {
  readonly rows: number;
  /** By an operation after this one: its gradient is there first, and this one's is added to it. */
  readonly isReadAgain: boolean;
  /** Where the output's gradient will be; 0 when nothing is trained. */
  readonly outputGradient: Pointer;
}

/**
 * y = x Wᵀ, plus s (x Aᵀ) Bᵀ with an adapter. Returns the output and how its gradient flows back:
 * into the input's gradient, and into the weights' or the adapter's, which are overwritten; null when nothing is trained.
 */
export function applyLinear(
  space: Workspace,
  linear: Linear,
  input: LinearInput,
): { readonly output: Activation; readonly backward: (() => void) | null } {
  const { rows, isReadAgain, outputGradient: gradient } = input;
  const value = space.allocate(rows * linear.outputs);
  const weight = {
    pointer: linear.weight,
    rows: linear.outputs,
    columns: linear.inputs,
    isPacked: linear.isPacked,
  };
  multiplyByTranspose(space, { rows, input: input.value, output: value, isAdded: false }, weight);
  const hidden =
    linear.adapter === null
      ? 0
      : addAdapter(
          space,
          { ...views(linear, linear.adapter), adapter: linear.adapter },
          { rows, input: input.value, output: value },
        );
  if (gradient === 0) return { output: { value, gradient }, backward: null };
  const backward = (): void => {
    multiply(space, { rows, input: gradient, output: input.gradient, isAdded: isReadAgain }, weight);
    if (linear.gradient !== 0) {
      multiplyRows(
        space,
        { rows, input: input.value, output: gradient },
        { ...weight, pointer: linear.gradient },
      );
    }
    if (linear.adapter !== null)
      adapterBackward(space, { linear, adapter: linear.adapter, hidden, gradient, input });
  };
  return { output: { value, gradient }, backward };
}

/** Returns s · x Aᵀ, which the backward pass needs. */
function addAdapter(
  space: Workspace,
  { a, b, adapter }: ReturnType<typeof views> & { readonly adapter: AdapterMatrices },
  { rows, input, output }: Pick<Product, 'rows' | 'input' | 'output'>,
): Pointer {
  const hidden = space.allocate(rows * adapter.rank);
  multiplyByTranspose(space, { rows, input, output: hidden, isAdded: false }, a);
  space.kernels.scale(rows * adapter.rank, hidden, adapter.scaling);
  multiplyByTranspose(space, { rows, input: hidden, output, isAdded: true }, b);
  return hidden;
}

interface AdapterStep {
  readonly linear: Linear;
  readonly adapter: AdapterMatrices;
  readonly hidden: Pointer;
  readonly gradient: Pointer;
  readonly input: Activation & { readonly rows: number };
}

function adapterBackward(space: Workspace, { linear, adapter, hidden, gradient, input }: AdapterStep): void {
  const { rows } = input;
  const { a, b } = views(linear, adapter);
  space.scratch(() => {
    const hiddenGradient = space.allocate(rows * adapter.rank);
    multiply(space, { rows, input: gradient, output: hiddenGradient, isAdded: false }, b);
    space.kernels.scale(rows * adapter.rank, hiddenGradient, adapter.scaling);
    multiplyRows(space, { rows, input: hidden, output: gradient }, { ...b, pointer: adapter.gradientB });
    multiplyRows(
      space,
      { rows, input: input.value, output: hiddenGradient },
      { ...a, pointer: adapter.gradientA },
    );
    multiply(space, { rows, input: hiddenGradient, output: input.gradient, isAdded: true }, a);
  });
}

/** target = W + s B A, packed for sampling. */
export function packMerged(space: Workspace, linear: Linear, target: Pointer): void {
  const { kernels } = space;
  const { inputs, outputs, adapter } = linear;
  space.scratch(() => {
    const merged = space.allocate(inputs * outputs);
    kernels.copy(inputs * outputs, merged, linear.weight);
    if (adapter !== null) {
      const scaled = space.allocate(outputs * adapter.rank);
      kernels.copy(outputs * adapter.rank, scaled, adapter.b);
      kernels.scale(outputs * adapter.rank, scaled, adapter.scaling);
      multiply(
        space,
        { rows: outputs, input: scaled, output: merged, isAdded: true },
        views(linear, adapter).a,
      );
    }
    kernels.packColumns(inputs, outputs, merged, inputs, target);
  });
}
