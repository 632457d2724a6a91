import { finish } from '../../../../../src/core/concurrency/steps';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import type { Datum, ForwardBackwardResult } from '../../../../../src/core/datum';
import type { SampleResult } from '../../../../../src/core/sampling';
import type { AsampleRequest, ForwardBackwardRequest } from '../../../../../src/engines/tinker/codec';
import {
  asampleRequestFromJson,
  asampleRequestToJson,
  decodeForwardBackwardOutput,
  decodeForwardBackwardRequest,
  decodeSampleResponse,
  encodeDatumAhead,
  encodeForwardBackwardOutput,
  encodeForwardBackwardRequest,
  encodeSampleResponse,
  forwardBackwardOutputFromJson,
  forwardBackwardOutputText,
  forwardBackwardOutputToJson,
  forwardBackwardRequestFromJson,
  forwardBackwardRequestToJson,
  sampleResponseFromJson,
  sampleResponseToJson,
} from '../../../../../src/engines/tinker/codec';
import {
  DType,
  ForwardBackwardRequestSchema,
  TensorSchema,
} from '../../../../../src/engines/tinker/generated/tinker_pb';
import { propertyRuns } from '../../../../setup/deep-cases';

/** Every value the wire can carry comes back as it was sent: the extremes too, bit for bit where the format has them. */

const throughText = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const anyFloat = fc.oneof(
  fc.float(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 1.401298464324817e-45),
);
const anyDouble = fc.oneof(
  fc.double(),
  fc.constantFrom(Number.NaN, Number.MAX_VALUE, Number.MIN_VALUE, Number.NEGATIVE_INFINITY, 2 ** 53, -0),
);
const token = fc.oneof(
  fc.constantFrom(0, 1, 2 ** 24 + 1, 2 ** 31 - 1, -(2 ** 31)),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
);
const key = fc
  .oneof(
    fc.constantFrom('weights', 'logprobs', 'advantages', 'mask', 'constructor', 'toString', 'hasOwnProperty'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  )
  .filter((text) => text !== 'target_tokens' && text !== '__proto__');
const lossFn = fc.constantFrom(
  'cross_entropy',
  'importance_sampling',
  'ppo',
  'cispo',
  'dro',
  'a loss of tomorrow',
  '',
);

const tokens = (length: number): fc.Arbitrary<Int32Array> =>
  fc.array(token, { minLength: length, maxLength: length }).map((list) => Int32Array.from(list));
const floats = (length: number): fc.Arbitrary<Float32Array> =>
  fc.array(anyFloat, { minLength: length, maxLength: length }).map((list) => Float32Array.from(list));
const lengths = fc.oneof(fc.integer({ min: 0, max: 7 }), fc.constant(60));

const datum: fc.Arbitrary<Datum> = lengths.chain((length) =>
  fc.record({
    tokens: tokens(length),
    targetTokens: tokens(length),
    lossInputs: fc.dictionary(key, floats(length), { maxKeys: 3, noNullPrototype: true }),
  }),
);
const request: fc.Arbitrary<ForwardBackwardRequest> = fc.record({
  modelId: fc.string({ unit: 'grapheme' }),
  seqId: fc.oneof(fc.constantFrom(0, 1, 2 ** 31 - 1), fc.integer({ min: 0, max: 2 ** 31 - 1 })),
  data: fc.array(datum, { maxLength: 4 }),
  lossFn,
  lossFnConfig: fc.dictionary(key, anyDouble, { maxKeys: 4, noNullPrototype: true }),
  forwardOnly: fc.boolean(),
});
const trainingResult: fc.Arbitrary<ForwardBackwardResult> = fc.record({
  logprobs: fc.array(lengths.chain(floats), { maxLength: 4 }),
  metrics: fc.dictionary(key, anyDouble, { maxKeys: 4, noNullPrototype: true }),
});
const drawnFloat = anyFloat.map(Math.fround);
const sample: fc.Arbitrary<SampleResult> = fc.record({
  sequences: fc.array(
    fc.record({
      tokens: fc.array(token, { maxLength: 6 }),
      logprobs: fc.option(fc.array(drawnFloat, { maxLength: 6 })),
      stopReason: fc.constantFrom('stop' as const, 'length' as const),
    }),
    { maxLength: 4 },
  ),
  promptLogprobs: fc.option(
    fc.array(fc.option(drawnFloat.filter((value) => !Number.isNaN(value))), { maxLength: 6 }),
  ),
});

/** JSON writes null for what is no number, and 0 for the zero below it. */
function asJsonHasIt<Value>(value: Value): Value {
  const plain = (number: number): number => (Number.isFinite(number) ? number + 0 : Number.NaN);
  const change = (item: unknown): unknown => {
    if (typeof item === 'number') return plain(item);
    if (item instanceof Float32Array) return item.map(plain);
    if (Array.isArray(item)) return item.map(change);
    if (typeof item !== 'object' || item === null || ArrayBuffer.isView(item)) return item;
    return Object.fromEntries(Object.entries(item).map(([name, inner]) => [name, change(inner)]));
  };
  // The same shape as before, one number for another.
  return change(value) as Value;
}

test('a training request of any loss, length and number in protobuf', () => {
  fc.assert(
    fc.property(request, (sent) => {
      expect(decodeForwardBackwardRequest(encodeForwardBackwardRequest(sent))).toEqual(sent);
    }),
    propertyRuns(),
  );
});

test('the same in JSON, its loss settings finite', () => {
  const finite = request.map((sent) => ({
    ...sent,
    lossFnConfig: Object.fromEntries(
      Object.entries(sent.lossFnConfig).filter(([, value]) => Number.isFinite(value)),
    ),
  }));
  fc.assert(
    fc.property(finite, (sent) => {
      const received = forwardBackwardRequestFromJson(throughText(forwardBackwardRequestToJson(sent)));
      expect(received).toEqual(asJsonHasIt(sent));
    }),
    propertyRuns(),
  );
});

test('the same request has the same bytes, whatever the order of its keys', () => {
  fc.assert(
    fc.property(request, (sent) => {
      const turned = Object.fromEntries(Object.entries(sent.lossFnConfig).reverse());
      expect(encodeForwardBackwardRequest({ ...sent, lossFnConfig: turned })).toEqual(
        encodeForwardBackwardRequest(sent),
      );
    }),
    propertyRuns(),
  );
});

test('bytes do not depend on when a datum was encoded, nor on how often it is sent', () => {
  fc.assert(
    fc.property(request, fc.integer({ min: 0, max: 3 }), (sent, count) => {
      const expected = encodeForwardBackwardRequest(structuredClone(sent));

      sent.data.slice(0, count).forEach(encodeDatumAhead);

      expect(encodeForwardBackwardRequest(sent)).toEqual(expected);
      expect(encodeForwardBackwardRequest(sent)).toEqual(expected);
    }),
    propertyRuns(),
  );
});

test('bytes are those of the fields in their order', () => {
  fc.assert(
    fc.property(request, (sent) => {
      const bytes = encodeForwardBackwardRequest({ ...sent, lossFnConfig: {} });

      expect(toBinary(ForwardBackwardRequestSchema, fromBinary(ForwardBackwardRequestSchema, bytes))).toEqual(
        bytes,
      );
    }),
    propertyRuns(),
  );
});

test('training results in both codecs', () => {
  fc.assert(
    fc.property(trainingResult, (sent) => {
      expect(decodeForwardBackwardOutput(encodeForwardBackwardOutput(sent))).toEqual(sent);
      expect(forwardBackwardOutputFromJson(throughText(forwardBackwardOutputToJson(sent)))).toEqual(
        asJsonHasIt(sent),
      );
    }),
    propertyRuns(),
  );
});

test('samples in protobuf, every bit of their log-probs', () => {
  fc.assert(
    fc.property(sample, (sent) => {
      expect(decodeSampleResponse(encodeSampleResponse(sent))).toEqual(sent);
    }),
    propertyRuns(),
  );
});

test('samples in JSON, whose prompt log-probs are null where they are no number', () => {
  fc.assert(
    fc.property(sample, (sent) => {
      const expected = asJsonHasIt(sent);
      const promptLogprobs = expected.promptLogprobs?.map((value) => (Number.isNaN(value) ? null : value));
      expect(sampleResponseFromJson(throughText(sampleResponseToJson(sent)))).toEqual({
        ...expected,
        promptLogprobs: promptLogprobs ?? null,
      });
    }),
    propertyRuns(),
  );
});

test('sampling requests of every kind', () => {
  const asample: fc.Arbitrary<AsampleRequest> = fc.record({
    samplingSessionId: fc.option(fc.string()),
    modelPath: fc.option(fc.string()),
    baseModel: fc.option(fc.string()),
    seqId: fc.option(fc.maxSafeNat()),
    request: fc.record({
      prompt: fc.array(token, { maxLength: 20 }),
      numSamples: fc.integer({ min: 1, max: 1024 }),
      promptLogprobs: fc.boolean(),
      params: fc.record(
        {
          maxTokens: fc.nat(),
          temperature: fc.double({ min: 0, max: 100, noNaN: true }),
          topK: fc.integer({ min: -1 }),
          topP: fc.double({ min: Number.MIN_VALUE, max: 1, noNaN: true }),
          seed: fc.maxSafeInteger(),
          stop: fc.oneof(fc.array(fc.string({ minLength: 1 })), fc.array(fc.nat(), { minLength: 1 })),
        },
        { requiredKeys: ['maxTokens', 'temperature', 'topK', 'topP'], noNullPrototype: true },
      ),
    }),
  });
  fc.assert(
    fc.property(asample, (sent) => {
      expect(asampleRequestFromJson(throughText(asampleRequestToJson(sent)))).toEqual(asJsonHasIt(sent));
    }),
    propertyRuns(),
  );
});

describe('a sparse tensor is the dense one it stands for', () => {
  const listed = fc.integer({ min: 1, max: 12 }).chain((length) =>
    fc.record({
      length: fc.constant(length),
      positions: fc.uniqueArray(fc.nat(length - 1)).map((list) => list.sort((one, other) => one - other)),
      seed: fc.nat(),
    }),
  );
  const int64s = (values: readonly number[]): Uint8Array =>
    new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  const rowStartsOf = (positions: readonly number[], length: number): number[] =>
    Array.from({ length: length + 1 }, (_, row) => positions.filter((position) => position < row).length);

  const bytesOfType: Readonly<
    Record<string, { dtype: DType; bytes: (values: readonly number[]) => Uint8Array }>
  > = {
    float32: {
      dtype: DType.DTYPE_FLOAT32,
      bytes: (values) => new Uint8Array(Float32Array.from(values).buffer),
    },
    unspecified: {
      dtype: DType.DTYPE_UNSPECIFIED,
      bytes: (values) => new Uint8Array(Float32Array.from(values).buffer),
    },
    int32: { dtype: DType.DTYPE_INT32, bytes: (values) => new Uint8Array(Int32Array.from(values).buffer) },
    int64: { dtype: DType.DTYPE_INT64, bytes: int64s },
    bfloat16: {
      dtype: DType.DTYPE_BFLOAT16,
      bytes: (values) =>
        new Uint8Array(
          Uint16Array.from(values, (value) => (new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0) >>> 16)
            .buffer,
        ),
    },
  };

  /** A request whose one tensor besides the targets, or the targets themselves, was replaced in its protobuf form. */
  function withTensor(
    length: number,
    name: string,
    init: Parameters<typeof create<typeof TensorSchema>>[1],
  ): Uint8Array {
    const message = fromBinary(
      ForwardBackwardRequestSchema,
      encodeForwardBackwardRequest({
        modelId: 'm',
        seqId: 1,
        data: [{ tokens: new Int32Array(length), targetTokens: new Int32Array(length), lossInputs: {} }],
        lossFn: 'cross_entropy',
        lossFnConfig: {},
        forwardOnly: false,
      }),
    );
    const [first] = message.data;
    if (first) first.lossFnInputs[name] = create(TensorSchema, init);
    return toBinary(ForwardBackwardRequestSchema, message);
  }

  test.each(
    Object.keys(bytesOfType).flatMap((type) => [
      [type, 'column', 'weights'] as const,
      [type, 'row', 'weights'] as const,
      [type, 'column', 'target_tokens'] as const,
      [type, 'row', 'target_tokens'] as const,
    ]),
  )('%s as a %s, for %s', (type, form, name) => {
    const { dtype, bytes } = bytesOfType[type] ?? { dtype: DType.DTYPE_FLOAT32, bytes: int64s };
    // Exact in the type: a bfloat16 has 8 bits, an int64 all that a token id has.
    const largest = { int64: 2 ** 31 - 1, int32: 2 ** 31 - 1, bfloat16: 255 }[type] ?? 2 ** 24;
    fc.assert(
      fc.property(listed, ({ length, positions, seed }) => {
        const valueAt = (index: number): number => 1 + ((seed + index * 7919) % largest);
        const dense = Array.from({ length }, () => 0);
        positions.forEach((position, index) => (dense[position] = valueAt(index)));
        const isColumn = form === 'column';
        const sparse = withTensor(length, name, {
          dtype,
          shape: isColumn ? [BigInt(length), 1n] : [1n, BigInt(length)],
          storage: {
            case: 'sparseCsr',
            value: {
              values: bytes(positions.map((_, index) => valueAt(index))),
              crowIndices: int64s(isColumn ? rowStartsOf(positions, length) : [0, positions.length]),
              colIndices: int64s(isColumn ? positions.map(() => 0) : positions),
            },
          },
        });
        const plain = withTensor(length, name, {
          dtype,
          shape: [BigInt(length)],
          storage: { case: 'dense', value: bytes(dense) },
        });

        const received = decodeForwardBackwardRequest(sparse);
        expect(received).toEqual(decodeForwardBackwardRequest(plain));
        const values =
          name === 'weights' ? received.data[0]?.lossInputs['weights'] : received.data[0]?.targetTokens;
        expect(values).toEqual(name === 'weights' ? Float32Array.from(dense) : Int32Array.from(dense));
      }),
      propertyRuns(),
    );
  });

  test.each([
    ['two values in one row', [0, 2, 2], [1, 2]],
    ['rows that go back', [0, 1, 0], [1]],
    ['fewer rows than values', [0, 0, 1], [1, 2]],
    ['more rows than values', [0, 1, 2], [1]],
    ['rows that begin late', [1, 1, 2], [1]],
  ])('of %s is refused by both codecs', (_, rowStarts, values) => {
    const binary = withTensor(2, 'weights', {
      dtype: DType.DTYPE_FLOAT32,
      shape: [2n, 1n],
      storage: {
        case: 'sparseCsr',
        value: {
          values: new Uint8Array(Float32Array.from(values).buffer),
          crowIndices: int64s(rowStarts),
          colIndices: int64s(values.map(() => 0)),
        },
      },
    });
    const json = {
      model_id: 'm',
      seq_id: 1,
      forward_backward_input: {
        loss_fn: 'cross_entropy',
        data: [
          {
            model_input: { chunks: [{ type: 'encoded_text', tokens: [1, 2] }] },
            loss_fn_inputs: {
              target_tokens: [1, 2],
              weights: {
                data: values,
                shape: [2, 1],
                sparse_crow_indices: rowStarts,
                sparse_col_indices: [],
              },
            },
          },
        ],
      },
    };

    expect(() => decodeForwardBackwardRequest(binary)).toThrow(/sparse tensor "weights"/);
    expect(() => forwardBackwardRequestFromJson(json)).toThrow(/sparse tensor "weights"/);
  });
});

test('a forward_input of null does not make a forward_backward a forward pass', () => {
  const body = {
    model_id: 'm',
    seq_id: 1,
    forward_input: null,
    forward_backward_input: { data: [], loss_fn: 'cross_entropy' },
  };

  expect(forwardBackwardRequestFromJson(body).forwardOnly).toBe(false);
});

test('the text of a long result is that of its JSON, and is written in steps', () => {
  const logprobs = Array.from({ length: 300 }, (_, datum) =>
    Float32Array.from({ length: 2 * (datum + 1) }, (_each, index) => -index / (datum + 3)),
  );
  const result = {
    logprobs: [...logprobs, new Float32Array(), Float32Array.of(Number.NaN)],
    metrics: { 'loss:sum': 0.1 },
  };
  const widths = logprobs.map((_, index) => 1 + (index % 2));
  const text = forwardBackwardOutputText(result, widths);

  expect(text.next().done).toBe(false);
  expect(finish(text)).toBe(JSON.stringify(forwardBackwardOutputToJson(result, widths)));
});
