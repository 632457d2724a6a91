import type { Kernels, Pointer } from './kernels';

/** The part of shared memory one thread may scribble in, as a stack. */
export class Workspace {
  readonly floats: Float32Array;
  readonly integers: Int32Array;
  private top: Pointer = 0;
  private end: Pointer = 0;

  constructor(
    readonly kernels: Kernels,
    memory: WebAssembly.Memory,
  ) {
    this.floats = new Float32Array(memory.buffer);
    this.integers = new Int32Array(memory.buffer);
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
    const pointer = this.allocate(values.length);
    this.integers.set(values, pointer / 4);
    return pointer;
  }

  storeFloats(values: ArrayLike<number>): Pointer {
    const pointer = this.allocate(values.length);
    this.floats.set(values, pointer / 4);
    return pointer;
  }

  /** Gives back what `run` allocated. */
  scratch(run: () => void): void {
    const { top } = this;
    run();
    this.top = top;
  }
}
