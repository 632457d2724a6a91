import { DomainError } from '../../../core/errors';
import type { Pointer } from './kernels';

const PAGE = 65536;
const ALIGNMENT = 64;
/** The kernels were built with this maximum (1 GiB): a larger memory would not link. */
const MAXIMUM_PAGES = 16384;

interface Gap {
  start: number;
  end: number;
}

/**
 * First-fit allocation in the memory all threads share.
 *
 * The whole range is reserved at once and never grows, so that no thread ever holds a stale view of it; pages
 * cost nothing until they are touched. Only the main thread allocates.
 */
export class SharedHeap {
  readonly memory: WebAssembly.Memory;
  readonly floats: Float32Array;
  readonly integers: Int32Array;
  readonly bytesTotal: number;
  private readonly gaps: Gap[];
  private readonly sizes = new Map<Pointer, number>();
  /** Frees what can be made again; called when no gap is large enough. */
  reclaim: () => void = () => undefined;

  constructor(megabytes: number) {
    const pages = Math.min(MAXIMUM_PAGES, Math.max(64, Math.ceil(megabytes * 16)));
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: MAXIMUM_PAGES, shared: true });
    this.floats = new Float32Array(this.memory.buffer);
    this.integers = new Int32Array(this.memory.buffer);
    this.bytesTotal = pages * PAGE;
    // The first page belongs to the kernels' own constants.
    this.gaps = [{ start: PAGE, end: this.bytesTotal }];
  }

  get bytesInUse(): number {
    return [...this.sizes.values()].reduce((total, size) => total + size, 0);
  }

  /** Null when no gap is large enough. The contents are whatever was there before. */
  tryAllocate(floatCount: number): Pointer | null {
    const size = Math.max(1, Math.ceil((floatCount * 4) / ALIGNMENT)) * ALIGNMENT;
    const fits = (gap: Gap): boolean => gap.end - gap.start >= size;
    if (!this.gaps.some(fits)) this.reclaim();
    const index = this.gaps.findIndex(fits);
    const gap = this.gaps[index];
    if (gap === undefined) return null;
    const pointer = gap.start;
    gap.start += size;
    if (gap.start === gap.end) this.gaps.splice(index, 1);
    this.sizes.set(pointer, size);
    return pointer;
  }

  allocate(floatCount: number, purpose: string): Pointer {
    const pointer = this.tryAllocate(floatCount);
    if (pointer !== null) return pointer;
    const wanted = mebibytes(floatCount * 4);
    if (floatCount * 4 > this.bytesTotal) {
      throw new DomainError(
        'request-failed',
        `The local engine would need ${wanted} MiB for ${purpose} and has ${mebibytes(this.bytesTotal)} MiB in all. Use a smaller model, or a service with more memory.`,
        { category: 'user' },
      );
    }
    throw new DomainError(
      'request-failed',
      `The local engine has no ${wanted} MiB left for ${purpose}. Unload models or send smaller requests.`,
      { category: 'server' },
    );
  }

  free(pointer: Pointer): void {
    const size = this.sizes.get(pointer);
    if (size === undefined) return;
    this.sizes.delete(pointer);
    const gap = { start: pointer, end: pointer + size };
    const found = this.gaps.findIndex((other) => other.start > pointer);
    const index = found === -1 ? this.gaps.length : found;
    const next = this.gaps[index];
    const previous = this.gaps[index - 1];
    if (next?.start === gap.end) {
      gap.end = next.end;
      this.gaps.splice(index, 1);
    }
    if (previous?.end === gap.start) previous.end = gap.end;
    else this.gaps.splice(index, 0, gap);
  }

  view(pointer: Pointer, floatCount: number): Float32Array {
    return this.floats.subarray(pointer / 4, pointer / 4 + floatCount);
  }
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
