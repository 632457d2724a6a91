import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/** A byte offset into the shared memory. */
export type Pointer = number;

/** `auto` uses fused multiply-add where the machine has it. The two round differently, so pin one to compare bits. */
export type KernelChoice = 'auto' | 'plain';

/** See `../kernels/kernels.ts` for what each one does. */
export interface Kernels {
  packRows(inner: number, outer: number, matrix: Pointer, rowStride: number, packed: Pointer): void;
  packColumns(inner: number, outer: number, matrix: Pointer, rowStride: number, packed: Pointer): void;
  matrixProduct(...parameters: readonly number[]): void;
  sumOfRowProducts(...parameters: readonly number[]): void;
  zero(count: number, target: Pointer): void;
  copy(count: number, target: Pointer, source: Pointer): void;
  add(count: number, target: Pointer, source: Pointer): void;
  sum(count: number, target: Pointer, left: Pointer, right: Pointer): void;
  scale(count: number, target: Pointer, factor: number): void;
  sumOfSquares(count: number, source: Pointer): number;
  gatherRows(rows: number, width: number, indices: Pointer, table: Pointer, target: Pointer): void;
  scatterRows(rows: number, width: number, indices: Pointer, gradient: Pointer, table: Pointer): void;
  normForward(...parameters: readonly number[]): void;
  normBackward(...parameters: readonly number[]): void;
  swigluForward(...parameters: readonly number[]): void;
  swigluBackward(...parameters: readonly number[]): void;
  rotate(...parameters: readonly number[]): void;
  attentionForward(...parameters: readonly number[]): void;
  attentionBackward(...parameters: readonly number[]): void;
  storeInCache(...parameters: readonly number[]): void;
  attendCache(...parameters: readonly number[]): void;
  forwardRows(...parameters: readonly number[]): Pointer;
  softmaxRows(...parameters: readonly number[]): void;
  drawTokens(rows: number, width: number, probabilities: Pointer, uniforms: Pointer, tokens: Pointer): void;
  softmaxBackward(...parameters: readonly number[]): void;
  /** 1 or 0. */
  adamStep(...parameters: readonly number[]): number;
}

const FOLDER = join(__dirname, '../kernels');

function compile(choice: KernelChoice): WebAssembly.Module {
  if (choice === 'auto') {
    // Node 20 knows the instructions but keeps them behind this flag, which must be set before compiling; Node 24 prints an
    // error where it is set.
    if (process.versions.v8.startsWith('11.3.')) setFlagsFromString('--experimental-wasm-relaxed-simd');
    try {
      return new WebAssembly.Module(readFileSync(join(FOLDER, 'kernels-fma.wasm')));
    } catch {
      // No relaxed SIMD in this Node or on this machine: the plain kernels do the same arithmetic.
    }
  }
  return new WebAssembly.Module(readFileSync(join(FOLDER, 'kernels.wasm')));
}

export function loadKernels(choice: KernelChoice, memory: WebAssembly.Memory): Kernels {
  const instance = new WebAssembly.Instance(compile(choice), { env: { memory } });
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the exports of our own .wasm, declared above
  return instance.exports as Kernels;
}
