import fc from 'fast-check';
import type { Datum } from '../../../../src/core/datum';
import { mergeChunkResults, planChunks } from '../../../../src/engines/tinker/chunks';

function datum(length: number): Datum {
  return {
    tokens: new Int32Array(length),
    targetTokens: new Int32Array(length),
    lossInputs: { weights: new Float32Array(length) },
  };
}

describe('planning chunks', () => {
  test('keeps every datum, in order, within the limits', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 40 });
    fc.assert(
      fc.property(
        lengths,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 2000 }),
        (sizes, maxChunkDatums, maxChunkBytes) => {
          const data = sizes.map(datum);

          const chunks = planChunks(data, { maxChunkDatums, maxChunkBytes });

          expect(chunks.flat()).toEqual(data);
          for (const chunk of chunks) {
            const bytes = chunk.reduce((total, { tokens }) => total + tokens.length * 16, 0);
            expect(chunk.length).toBeLessThanOrEqual(maxChunkDatums);
            expect(chunk.length === 1 || bytes <= maxChunkBytes).toBe(true);
          }
        },
      ),
    );
  });

  test('gives a datum above the limit a chunk of its own', () => {
    const chunks = planChunks([datum(1), datum(100), datum(1)], { maxChunkDatums: 10, maxChunkBytes: 100 });

    expect(chunks.map((chunk) => chunk.map(({ tokens }) => tokens.length))).toEqual([[1], [100], [1]]);
  });
});

describe('merging chunk results', () => {
  const result = (count: number, metrics: Record<string, number>) => ({
    logprobs: Array.from({ length: count }, (_, index) => Float32Array.of(index)),
    metrics,
  });

  test('leaves a single result as it is', () => {
    const only = result(2, { 'odd:unheard-of': 1 });

    expect(mergeChunkResults([only])).toBe(only);
  });

  test.each([
    ['loss:sum', 4],
    ['loss:min', 1],
    ['loss:max', 3],
    ['loss:mean', 1.5],
    ['loss:slack', 1.5],
    ['loss:hash2', 4],
  ])('reduces %s to %d, weighted by datums', (name, expected) => {
    const merged = mergeChunkResults([result(3, { [name]: 1 }), result(1, { [name]: 3 })]);

    expect(merged.metrics).toEqual({ [name]: expected });
    expect(merged.logprobs).toHaveLength(4);
  });

  test('numbers unique values and drops what it cannot reduce', () => {
    const merged = mergeChunkResults([
      result(1, { 'host:unique': 7, 'x:median': 1, 'once:sum': 1, bare: 1 }),
      result(1, { 'host:unique': 8, 'x:median': 2 }),
    ]);

    expect(merged.metrics).toEqual({ 'host:unique': 7, 'host:unique_1': 8 });
  });
});
