import fc from 'fast-check';
import type { Datum } from '../../../../../src/core/datum';
import type { NumberTable, SampleResult, TokenCells } from '../../../../../src/core/sampling';
import type { ForwardBackwardRequest } from '../../../../../src/engines/tinker/codec';

const float32 = fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
const token = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const name = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text !== 'target_tokens');

const datum: fc.Arbitrary<Datum> = fc.integer({ min: 1, max: 9 }).chain((length) =>
  fc.record({
    tokens: fc.array(token, { minLength: length, maxLength: length }).map((list) => Int32Array.from(list)),
    targetTokens: fc
      .array(token, { minLength: length, maxLength: length })
      .map((list) => Int32Array.from(list)),
    lossInputs: fc.dictionary(
      fc.oneof(fc.constantFrom('weights', 'logprobs', 'advantages'), name),
      fc.array(float32, { minLength: length, maxLength: length }).map((list) => Float32Array.from(list)),
      { maxKeys: 3, noNullPrototype: true },
    ),
  }),
);

export const forwardBackwardRequest: fc.Arbitrary<ForwardBackwardRequest> = fc.record({
  modelId: fc.string(),
  seqId: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  data: fc.array(datum, { maxLength: 4 }),
  lossFn: fc.string(),
  lossFnConfig: fc.dictionary(
    name,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
    { noNullPrototype: true },
  ),
  forwardOnly: fc.boolean(),
});

export const forwardBackwardResult = fc.record({
  logprobs: fc.array(
    fc.array(float32, { maxLength: 9 }).map((list) => Float32Array.from(list)),
    { maxLength: 5 },
  ),
  metrics: fc.dictionary(
    name.map((text) => `${text}:sum`),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
    { noNullPrototype: true },
  ),
});

/** At least one column, as every answer has. */
function cells(rowCount: number): fc.Arbitrary<TokenCells> {
  return fc.integer({ min: 1, max: 4 }).chain((width) => {
    const size = { minLength: rowCount * width, maxLength: rowCount * width };
    return fc.record({
      width: fc.constant(width),
      tokens: fc.array(token, size).map((list) => Int32Array.from(list)),
      logprobs: fc.array(float32, size).map((list) => Float32Array.from(list)),
    });
  });
}

function sparseOf(rowLengths: readonly number[], columnCount: number): fc.Arbitrary<Table> {
  const count = rowLengths.reduce((sum, length) => sum + length, 0);
  const rowStarts = Int32Array.from([0, ...rowLengths]);
  for (let row = 1; row < rowStarts.length; row++)
    rowStarts[row] = (rowStarts[row] ?? 0) + (rowStarts[row - 1] ?? 0);
  const size = { minLength: count, maxLength: count };
  return fc
    .tuple(fc.array(float32, size), fc.array(fc.nat(columnCount - 1), size))
    .map(([values, columns]) => ({
      rowCount: rowLengths.length,
      columnCount,
      values: Float32Array.from(values),
      sparse: { rowStarts, columns: Int32Array.from(columns) },
    }));
}

type Table = NumberTable<Float32Array>;

const table: fc.Arbitrary<Table> = fc.oneof(
  fc
    .tuple(fc.nat(4), fc.nat(3))
    .chain(([rowCount, columnCount]) =>
      fc
        .array(float32, { minLength: rowCount * columnCount, maxLength: rowCount * columnCount })
        .map((values) => ({ rowCount, columnCount, values: Float32Array.from(values), sparse: null })),
    ),
  fc
    .tuple(fc.array(fc.nat(3), { maxLength: 4 }), fc.integer({ min: 1, max: 3 }))
    .chain(([rowLengths, columnCount]) => sparseOf(rowLengths, columnCount)),
);

const targets = table.map((given) => ({
  ...given,
  values: Int32Array.from(given.values, (value) => Math.trunc(value) | 0),
}));
const count = fc.integer({ min: 1, max: 99 });

export const askedScores = fc.record(
  { topPromptLogprobs: count, topSampledLogprobs: count, promptTargets: targets, promptAlternatives: count },
  { requiredKeys: [] },
);

const scores = fc.record(
  {
    topPromptLogprobs: fc.integer({ min: 1, max: 4 }).chain(cells),
    promptTargetLogprobs: table,
    promptAlternatives: fc.nat(4).chain(cells),
  },
  { requiredKeys: [] },
);

const drawnAndScored: fc.Arbitrary<SampleResult> = fc.record({
  sequences: fc.array(
    fc.record({
      tokens: fc.array(token, { maxLength: 6 }),
      logprobs: fc.option(fc.array(float32, { maxLength: 6 })),
      stopReason: fc.constantFrom('stop' as const, 'length' as const),
    }),
    { maxLength: 4 },
  ),
  promptLogprobs: fc.option(fc.array(fc.option(float32), { maxLength: 6 })),
});

const topOfDrawn = fc.option(fc.integer({ min: 1, max: 4 }).chain(cells), { nil: undefined });

export const sampleResult: fc.Arbitrary<SampleResult> = fc
  .tuple(drawnAndScored, scores, topOfDrawn)
  .map(([result, more, topLogprobs]) => ({
    ...result,
    sequences: result.sequences.map((sequence) => ({ ...sequence, ...(topLogprobs && { topLogprobs }) })),
    ...more,
  }));
