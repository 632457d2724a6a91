import fc from 'fast-check';
import type { Datum } from '../../../../../src/core/datum';
import type { SampleResult } from '../../../../../src/core/sampling';
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

export const sampleResult: fc.Arbitrary<SampleResult> = fc.record({
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
