import type { Kernels, Pointer } from './kernels';

/** The part of shared memory one thread may scribble in, as a stack. */
export class Workspace {
  readonly floats: Float32Array;
  readonly integers: Int32Array;
  readonly doubles: Float64Array;
  private top: Pointer = 0;
  private end: Pointer = 0;

  constructor(
    readonly kernels: Kernels,
    memory: WebAssembly.Memory,
  ) {
    this.floats = new Float32Array(memory.buffer);
    this.integers = new Int32Array(memory.buffer);
    this.doubles = new Float64Array(memory.buffer);
  }

  use(arena: { readonly start: Pointer; readonly end: Pointer }): void {
    this.top = arena.start;
    this.end = arena.end;
  }

  allocate(floatCount: number): Pointer {
    const pointer = this.top;
    this.top += Math.ceil(floatCount / 16) * 64;
    if (this.top > this.end) throw new Error('A compute thread ran out of working memory');
    return pointer;
  }

  allocateZeroed(floatCount: number): Pointer {
    const pointer = this.allocate(floatCount);
    this.kernels.zero(floatCount, pointer);
    return pointer;
  }

  storeIntegers(values: ArrayLike<number>): Pointer {
    return fill(this.integers, this.allocate(values.length), values);
  }

  storeFloats(values: ArrayLike<number>): Pointer {
    return fill(this.floats, this.allocate(values.length), values);
  }

  storeDoubles(values: ArrayLike<number>): Pointer {
    return fill(this.doubles, this.allocate(values.length * 2), values);
  }

  /** Gives back what `run` allocated. */
  scratch(run: () => void): void {
    const { top } = this;
    run();
    this.top = top;
  }
}

/** One by one: a list of a few numbers is stored sooner than the built-in `set` starts. */
function fill(
  target: Int32Array | Float32Array | Float64Array,
  pointer: Pointer,
  values: ArrayLike<number>,
): Pointer {
  const first = pointer / target.BYTES_PER_ELEMENT;
  for (let index = 0; index < values.length; index++) target[first + index] = values[index] ?? 0;
  return pointer;
}
