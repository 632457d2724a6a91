import { createRandom } from '../../../../../src/core/random';
import { drawFromAll } from '../../../../../src/engines/local/compute/choose-token';
import { loadKernels } from '../../../../../src/engines/local/compute/kernels';
import type { KernelChoice, Kernels } from '../../../../../src/engines/local/compute/kernels';
import { SharedHeap } from '../../../../../src/engines/local/compute/shared-heap';
import { rowProductsScratchFloats } from '../../../../../src/engines/local/compute/linear-map';
import {
  attentionScratchFloats,
  cacheScratchFloats,
  lineOf,
} from '../../../../../src/engines/local/compute/working-memory';

/** The kernels against the same formulas in float64. Sizes are odd, so that every tail is reached. */

const CHOICES: readonly KernelChoice[] = ['plain', 'auto'];

class Bench {
  private readonly heap = new SharedHeap(16);
  private readonly random = createRandom(5);
  readonly kernels: Kernels;

  constructor(choice: KernelChoice) {
    this.kernels = loadKernels(choice, this.heap.memory);
  }

  draw(count: number): { readonly at: number; readonly values: Float64Array } {
    const at = this.room(count);
    const view = this.heap.view(at, count);
    for (let index = 0; index < count; index++) view[index] = 2 * this.random() - 1;
    return { at, values: Float64Array.from(view) };
  }

  /** Room that holds NaN, so that reading what nobody wrote shows. */
  room(count: number): number {
    const at = this.heap.allocate(count, 'a test');
    this.heap.view(at, count).fill(NaN);
    return at;
  }

  store(values: Float32Array): number {
    const at = this.room(values.length);
    this.heap.view(at, values.length).set(values);
    return at;
  }

  doubles(values: readonly number[]): number {
    const at = this.room(values.length * 2);
    new Float64Array(this.heap.memory.buffer).set(values, at / 8);
    return at;
  }

  readIntegers(at: number, count: number): Int32Array {
    return new Int32Array(this.heap.memory.buffer).slice(at / 4, at / 4 + count);
  }

  integers(values: readonly number[]): number {
    const at = this.heap.allocate(values.length, 'a test');
    new Int32Array(this.heap.memory.buffer).set(values, at / 4);
    return at;
  }

  read(at: number, count: number): Float32Array {
    return this.heap.view(at, count).slice();
  }
}

function expectClose(actual: Float32Array, expected: ArrayLike<number>): void {
  expect(actual.length).toBe(expected.length);
  for (const [index, value] of actual.entries()) {
    // Not toBeCloseTo: a NaN must fail, and the message must say where.
    const difference = Math.abs(value - (expected[index] ?? NaN));
    if (!(difference < 2e-5)) throw new Error(`[${index}] is ${value}, not ${expected[index]}`);
  }
}

const at = (values: Float64Array, index: number): number => values[index] ?? NaN;

interface HeadShape {
  readonly length: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly width: number;
}

interface Heads {
  readonly q: Float64Array;
  readonly k: Float64Array;
  readonly v: Float64Array;
}

/** Probabilities of one query over the keys up to its own, and what they mix. */
function attendNaively(
  shape: HeadShape,
  { q, k, v }: Heads,
  { row, head }: { row: number; head: number },
): { probabilities: number[]; output: number[] } {
  const { heads, keyHeads, width } = shape;
  const keyHead = Math.floor((head * keyHeads) / heads);
  const keyAt = (j: number, c: number): number => (j * keyHeads + keyHead) * width + c;
  const columns = Array.from({ length: width }, (_, c) => c);
  const scores = Array.from({ length: row + 1 }, (_, j) =>
    columns.reduce((sum, c) => sum + at(q, (row * heads + head) * width + c) * at(k, keyAt(j, c)), 0),
  ).map((score) => Math.exp(score / Math.sqrt(width)));
  const total = scores.reduce((sum, score) => sum + score, 0);
  const probabilities = scores.map((score) => score / total);
  const output = columns.map((c) => probabilities.reduce((sum, p, j) => sum + p * at(v, keyAt(j, c)), 0));
  return { probabilities, output };
}

function attendAllNaively(shape: HeadShape, input: Heads): number[] {
  return Array.from({ length: shape.length * shape.heads }, (_, index) => {
    const row = Math.floor(index / shape.heads);
    return attendNaively(shape, input, { row, head: index % shape.heads }).output;
  }).flat();
}

/** The slope of sum(output * weights) in one number of the input, by a central difference. */
function slopeNaively(shape: HeadShape, input: Heads, weights: Float64Array): (key: keyof Heads) => number[] {
  const valueOf = (heads: Heads): number =>
    attendAllNaively(shape, heads).reduce((sum, value, index) => sum + value * at(weights, index), 0);
  return (key) =>
    Array.from(input[key], (_, index) => {
      const moved = (change: number): Heads => {
        const copy = input[key].slice();
        copy[index] = at(copy, index) + change;
        return { ...input, [key]: copy };
      };
      return (valueOf(moved(1e-4)) - valueOf(moved(-1e-4))) / 2e-4;
    });
}

function drawHeads(bench: Bench, { length, heads, keyHeads, width }: HeadShape) {
  const [q, k, v] = [
    bench.draw(length * heads * width),
    bench.draw(length * keyHeads * width),
    bench.draw(length * keyHeads * width),
  ];
  return { q, k, v, values: { q: q.values, k: k.values, v: v.values } };
}

function runForward(bench: Bench, shape: HeadShape, input: ReturnType<typeof drawHeads>) {
  const { length, heads, keyHeads, width } = shape;
  const line = lineOf(length);
  const output = bench.room(length * heads * width);
  const probabilities = bench.room(heads * length * line);
  const scratch = bench.room(attentionScratchFloats({ headWidth: width }, length));
  bench.kernels.attentionForward(
    length,
    heads,
    keyHeads,
    width,
    input.q.at,
    input.k.at,
    input.v.at,
    output,
    probabilities,
    line,
    scratch,
  );
  return { output, probabilities, line, scratch };
}

describe.each(CHOICES)('the %s kernels', (choice) => {
  test.each([
    [1, 8, 1],
    [2, 24, 3],
    [3, 40, 7],
    [4, 72, 32],
    [5, 32, 64],
    [50, 16, 130],
    [97, 104, 33],
  ])('multiply %i x %i over %i', (rows, columns, inner) => {
    const bench = new Bench(choice);
    const a = bench.draw(rows * inner);
    const b = bench.draw(inner * columns);
    const before = bench.draw(rows * columns);
    const packed = bench.room(inner * columns);
    bench.kernels.packRows(inner, columns, b.at, columns, packed);
    const product = Float64Array.from({ length: rows * columns }, (_, index) => {
      const [row, column] = [Math.floor(index / columns), index % columns];
      let sum = 0;
      for (let k = 0; k < inner; k++)
        sum += at(a.values, row * inner + k) * at(b.values, k * columns + column);
      return sum;
    });
    const output = bench.room(rows * columns);

    bench.kernels.matrixProduct(rows, columns, inner, a.at, inner, packed, output, columns, 0);
    bench.kernels.matrixProduct(rows, columns, inner, a.at, inner, packed, before.at, columns, 1);

    expectClose(bench.read(output, rows * columns), product);
    const sums = product.map((value, index) => value + at(before.values, index));
    expectClose(bench.read(before.at, rows * columns), sums);
  });

  test.each([
    [1, 8, 8],
    [9, 24, 40],
    [256, 40, 8],
    [515, 16, 24],
  ])('sum the products of %i rows, %i columns by %i', (rows, left, right) => {
    const bench = new Bench(choice);
    const a = bench.draw(rows * left);
    const b = bench.draw(rows * right);
    const product = Float64Array.from({ length: left * right }, (_, index) => {
      const [row, column] = [Math.floor(index / right), index % right];
      let sum = 0;
      for (let k = 0; k < rows; k++) sum += at(a.values, k * left + row) * at(b.values, k * right + column);
      return sum;
    });
    const output = bench.room(left * right);
    const scratch = bench.room(rowProductsScratchFloats(right));

    bench.kernels.sumOfRowProducts(rows, left, right, a.at, b.at, output, scratch);

    expectClose(bench.read(output, left * right), product);
  });

  test.each([1, 2, 3, 4, 5, 7])('draw the tokens of %i rows as is done one by one', (rows) => {
    const bench = new Bench(choice);
    const width = 24;
    const uniforms = [0, 1e-9, 0.25, 0.5, 0.999, 1 - 2 ** -32, 0.75];
    const drawn = bench.draw(rows * width);
    // A third has no share, and neither have the first and the last.
    const values = Float32Array.from(drawn.values, (value, index) =>
      index % width === 0 || index % width === width - 1 ? 0 : Math.max(0, value + 0.3),
    );
    const probabilities = bench.store(values);
    const tokens = bench.integers(Array.from({ length: rows }, () => -1));
    const doubles = bench.doubles(uniforms.slice(0, rows));

    bench.kernels.drawTokens(rows, width, probabilities, doubles, tokens);

    const expected = uniforms
      .slice(0, rows)
      .map((uniform, row) => drawFromAll(values.slice(row * width, (row + 1) * width), uniform));
    expect([...bench.readIntegers(tokens, rows)]).toEqual(expected);
  });

  test('a draw that rounding carries past the end takes the last token with a share', () => {
    const bench = new Bench(choice);
    const values = Float32Array.of(0, 0.1, 0.2, 0.3, 0, 0, 0, 0);
    const tokens = bench.integers([-1]);

    bench.kernels.drawTokens(1, 8, bench.store(values), bench.doubles([1 + 1e-9]), tokens);

    expect([...bench.readIntegers(tokens, 1)]).toEqual([3]);
    expect(drawFromAll(values, 1 + 1e-9)).toBe(3);
  });

  test('a row of a product has the same bits whichever rows are beside it', () => {
    const bench = new Bench(choice);
    const [rows, columns, inner] = [103, 72, 64];
    const a = bench.draw(rows * inner);
    const b = bench.draw(inner * columns);
    const packed = bench.room(inner * columns);
    bench.kernels.packRows(inner, columns, b.at, columns, packed);
    const multiply = (first: number, count: number): Float32Array => {
      const output = bench.room(count * columns);
      const start = a.at + first * inner * 4;
      bench.kernels.matrixProduct(count, columns, inner, start, inner, packed, output, columns, 0);
      return bench.read(output, count * columns);
    };

    const together = multiply(0, rows);
    const alone = Array.from({ length: rows }, (_, row) => [...multiply(row, 1)]).flat();

    expect([...together]).toEqual(alone);
  });

  const shapes: readonly HeadShape[] = [
    { length: 1, heads: 1, keyHeads: 1, width: 8 },
    { length: 3, heads: 2, keyHeads: 1, width: 8 },
    { length: 5, heads: 2, keyHeads: 2, width: 16 },
    { length: 8, heads: 4, keyHeads: 2, width: 8 },
    { length: 9, heads: 2, keyHeads: 1, width: 24 },
  ];

  test.each(shapes)('attend over $length rows, $heads heads on $keyHeads of $width', (shape) => {
    const bench = new Bench(choice);
    const input = drawHeads(bench, shape);

    const { output } = runForward(bench, shape, input);

    const expected = attendAllNaively(shape, input.values);
    expectClose(bench.read(output, expected.length), expected);
  });

  test.each(shapes)('attend backwards over $length rows, $heads heads on $keyHeads of $width', (shape) => {
    const bench = new Bench(choice);
    const { length, heads, keyHeads, width } = shape;
    const input = drawHeads(bench, shape);
    const { probabilities, line, scratch } = runForward(bench, shape, input);
    const slopes = bench.draw(length * heads * width);
    const gradients = { q: bench.room(slopes.values.length), k: 0, v: 0 };
    gradients.k = bench.room(length * keyHeads * width);
    gradients.v = bench.room(length * keyHeads * width);

    bench.kernels.attentionBackward(
      length,
      heads,
      keyHeads,
      width,
      input.q.at,
      input.k.at,
      input.v.at,
      probabilities,
      line,
      slopes.at,
      gradients.q,
      gradients.k,
      gradients.v,
      scratch,
    );

    const expected = slopeNaively(shape, input.values, slopes.values);
    for (const key of ['q', 'k', 'v'] as const) {
      const slope = expected(key);
      expectClose(bench.read(gradients[key], slope.length), slope);
    }
  });

  test.each([
    { length: 70, heads: 2, keyHeads: 1, width: 8 },
    { length: 33, heads: 4, keyHeads: 2, width: 24 },
    { length: 9, heads: 2, keyHeads: 2, width: 32 },
    { length: 21, heads: 4, keyHeads: 2, width: 16 },
    { length: 6, heads: 3, keyHeads: 3, width: 16 },
    { length: 11, heads: 1, keyHeads: 1, width: 56 },
  ])('attend through caches over $length positions, width $width', (shape) => {
    const bench = new Bench(choice);
    const { length, heads, keyHeads, width } = shape;
    const input = drawHeads(bench, shape);
    const keyFloats = keyHeads * width;
    const step = (2 * keyFloats + 16) * 4;
    const cache = bench.room((length * step) / 4);
    const rows = Array.from({ length }, (_, row) => row);
    const positions = bench.integers(rows);
    const caches = bench.integers(rows.map(() => cache));
    bench.kernels.storeInCache(length, keyFloats, input.k.at, caches, 0, step, positions);
    bench.kernels.storeInCache(length, keyFloats, input.v.at, caches, keyFloats * 4, step, positions);
    const scratch = bench.room(cacheScratchFloats(shape, length));
    const attend = (first: number, count: number): Float32Array => {
      const output = bench.room(count * heads * width);
      bench.kernels.attendCache(
        count,
        heads,
        keyHeads,
        width,
        input.q.at + first * heads * width * 4,
        caches,
        0,
        keyFloats * 4,
        step,
        positions + first * 4,
        output,
        scratch,
      );
      return bench.read(output, count * heads * width);
    };

    const together = attend(0, length);

    expectClose(together, attendAllNaively(shape, input.values));
    expect([...together]).toEqual(rows.flatMap((row) => [...attend(row, 1)]));
  });
});
