import fc from 'fast-check';
import { DomainError } from '../../../../../src/core/errors';
import {
  asampleRequestFromJson,
  asampleRequestToJson,
  checkDatum,
  decodeForwardBackwardOutput,
  decodeForwardBackwardRequest,
  decodeSampleResponse,
  encodeForwardBackwardOutput,
  encodeForwardBackwardRequest,
  encodeSampleResponse,
  forwardBackwardOutputFromJson,
  forwardBackwardOutputToJson,
  forwardBackwardRequestFromJson,
  forwardBackwardRequestToJson,
  sampleResponseFromJson,
  sampleResponseToJson,
} from '../../../../../src/engines/tinker/codec';
import { askedScores, forwardBackwardRequest, forwardBackwardResult, sampleResult } from './arbitraries';
import { propertyRuns } from '../../../../setup/deep-cases';

/** Through text, and at an odd offset of a larger buffer: as values really arrive. */
const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
function unaligned(bytes: Uint8Array): Uint8Array {
  const larger = new Uint8Array(bytes.length + 3);
  larger.set(bytes, 3);
  return larger.subarray(3);
}

describe('round trips', () => {
  test('forward_backward requests in protobuf', () => {
    fc.assert(
      fc.property(forwardBackwardRequest, (request) => {
        expect(decodeForwardBackwardRequest(unaligned(encodeForwardBackwardRequest(request)))).toEqual(
          request,
        );
      }),
    );
  });

  test('forward_backward requests in JSON', () => {
    fc.assert(
      fc.property(forwardBackwardRequest, (request) => {
        const body = overTheWire(forwardBackwardRequestToJson(request));
        expect(forwardBackwardRequestFromJson(body)).toEqual(request);
      }),
    );
  });

  test('forward_backward results in both codecs', () => {
    fc.assert(
      fc.property(forwardBackwardResult, (result) => {
        expect(decodeForwardBackwardOutput(unaligned(encodeForwardBackwardOutput(result)))).toEqual(result);
        expect(forwardBackwardOutputFromJson(overTheWire(forwardBackwardOutputToJson(result)))).toEqual(
          result,
        );
      }),
    );
  });

  test('sample results in both codecs, a missing prompt log-prob staying null', () => {
    fc.assert(
      fc.property(sampleResult, (result) => {
        expect(decodeSampleResponse(unaligned(encodeSampleResponse(result)))).toEqual(result);
        expect(sampleResponseFromJson(overTheWire(sampleResponseToJson(result)))).toEqual(result);
      }),
    );
  });

  test('asample requests, with every kind of stop', () => {
    const params = { maxTokens: 8, temperature: 0.5, topK: 5, topP: 0.9 };
    for (const stop of [undefined, [], ['\n'], [1, 2]]) {
      const asample = {
        samplingSessionId: 's:sample:0',
        modelPath: null,
        baseModel: null,
        seqId: 3,
        request: {
          prompt: [1, 2, 3],
          numSamples: 2,
          promptLogprobs: true,
          params: { ...params, seed: 7, ...(stop && { stop }) },
        },
      };
      expect(asampleRequestFromJson(overTheWire(asampleRequestToJson(asample)))).toEqual(asample);
    }
  });

  test('asample requests, with every kind of score', () => {
    const params = { maxTokens: 8, temperature: 0.5, topK: 5, topP: 0.9 };
    const base = { samplingSessionId: null, modelPath: null, baseModel: 'm', seqId: null };
    fc.assert(
      fc.property(askedScores, (scores) => {
        const request = { prompt: [1, 2, 3], numSamples: 1, promptLogprobs: false, params, ...scores };
        const asample = { ...base, request };
        expect(asampleRequestFromJson(overTheWire(asampleRequestToJson(asample)))).toEqual(asample);
      }),
    );
  });
});

describe('bytes from elsewhere', () => {
  const decoders = [decodeForwardBackwardRequest, decodeForwardBackwardOutput, decodeSampleResponse];

  function expectAnswerOrProtocolError(decode: (bytes: Uint8Array) => unknown, bytes: Uint8Array): void {
    try {
      decode(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(DomainError);
      expect(error).toMatchObject({ code: 'protocol-error' });
    }
  }

  test('that are random end in an answer or a protocol error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const decode of decoders) expectAnswerOrProtocolError(decode, bytes);
      }),
      propertyRuns(500),
    );
  });

  test('that are a damaged message end in an answer or a protocol error', () => {
    fc.assert(
      fc.property(forwardBackwardRequest, fc.nat(), fc.nat(255), fc.nat(), (request, at, value, cut) => {
        const bytes = encodeForwardBackwardRequest(request).slice();
        if (bytes.length > 0) bytes[at % bytes.length] = value;
        expectAnswerOrProtocolError(decodeForwardBackwardRequest, bytes);
        expectAnswerOrProtocolError(
          decodeForwardBackwardRequest,
          bytes.subarray(0, cut % (bytes.length + 1)),
        );
      }),
      propertyRuns(500),
    );
  });

  test('that are any JSON end in an answer or a protocol error', () => {
    const readers = [
      forwardBackwardRequestFromJson,
      forwardBackwardOutputFromJson,
      sampleResponseFromJson,
      asampleRequestFromJson,
    ];
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const read of readers) {
          try {
            read(value);
          } catch (error) {
            expect(error).toMatchObject({ code: 'protocol-error' });
          }
        }
      }),
    );
  });

  test('may claim a giant result without making the decoder allocate it', () => {
    // ArrayRecord with num_datums = 2^62 and no offsets
    const bytes = Buffer.from('120b18808080808080808040' + '1200', 'hex');

    expect(() => decodeForwardBackwardOutput(bytes)).toThrow(DomainError);
  });
});

describe('captured traffic', () => {
  test('a request in the bytes of the official schema, its text in two chunks and one tensor sparse', () => {
    expect(decodeForwardBackwardRequest(Buffer.from(OFFICIAL_REQUEST, 'base64'))).toEqual({
      modelId: 's:train:0',
      seqId: 7,
      lossFn: 'ppo',
      lossFnConfig: { clip_low_threshold: 0.8 },
      forwardOnly: true,
      data: [
        {
          tokens: Int32Array.of(1, 2, 3),
          targetTokens: Int32Array.of(2, 3, 4),
          lossInputs: { advantages: Float32Array.of(0, 0.5, -1), weights: Float32Array.of(0, 2.5, 0) },
        },
      ],
    });
  });

  test('a forward_backward result of SkyRL, with a field of its own besides', () => {
    const result = decodeForwardBackwardOutput(Buffer.from(SKYRL_OUTPUT, 'base64'));

    expect(result.metrics).toEqual({});
    expect(result.logprobs.map((values) => values.length)).toEqual([12, 12]);
    expect(result.logprobs[0]?.[0]).toBe(-5.543997764587402);
    expect(result.logprobs[0]?.[5]).toBe(-5.787697792053223);
  });

  test('a forward_backward result with a metric', () => {
    const result = decodeForwardBackwardOutput(Buffer.from(OUTPUT_WITH_METRIC, 'base64'));

    expect(result.metrics).toEqual({ 'loss:sum': 86.52481493690658 });
    expect(result.logprobs).toHaveLength(3);
    expect(result.logprobs[2]).toEqual(new Float32Array(5).fill(-5.7683210372924805));
  });

  test('a sample of official form, whose first prompt log-prob is undefined', () => {
    expect(decodeSampleResponse(Buffer.from(SAMPLE_WITH_PROMPT_LOGPROBS, 'base64'))).toEqual({
      sequences: [
        {
          stopReason: 'stop',
          tokens: [7, 8, 9],
          logprobs: [-1.4366202354431152, -1.1524064540863037, -1.1524064540863037],
        },
        {
          stopReason: 'length',
          tokens: [7, 3, 7, 8],
          logprobs: [-1.4366202354431152, -6.144806861877441, -1.4366202354431152, -1.1524064540863037],
        },
      ],
      promptLogprobs: [null, -1.1524064540863037, -1.1524064540863037],
    });
  });

  test('a sample of SkyRL, which leaves out an unset stop reason', () => {
    const result = decodeSampleResponse(Buffer.from(SKYRL_SAMPLE, 'base64'));

    expect(result.sequences.map(({ stopReason, tokens }) => ({ stopReason, tokens }))).toEqual([
      { stopReason: 'stop', tokens: [201] },
      { stopReason: 'stop', tokens: [247, 296, 252, 201] },
    ]);
    expect(result.promptLogprobs).toHaveLength(10);
  });

  test('a JSON result of SkyRL', () => {
    const body: unknown = JSON.parse(
      '{"loss_fn_output_type":"scalar","loss_fn_outputs":[{"elementwise_loss":{"data":[-0.0,5.588929653167725],"dtype":"float32","shape":[2]},"logprobs":{"data":[-5.602038383483887,-5.588929653167725],"dtype":"float32","shape":[2]}}],"metrics":{}}',
    );

    expect(forwardBackwardOutputFromJson(body)).toEqual({
      logprobs: [Float32Array.of(-5.602038383483887, -5.588929653167725)],
      metrics: {},
    });
  });
});

describe('tensors', () => {
  const body = (tensors: object) => ({
    model_id: 'm',
    seq_id: 1,
    forward_backward_input: {
      data: [
        { model_input: { chunks: [{ type: 'encoded_text', tokens: [1, 2] }] }, loss_fn_inputs: tensors },
      ],
      loss_fn: 'cross_entropy',
    },
  });

  test('of target tokens beyond 32 bits are refused', () => {
    const wide = body({ target_tokens: { data: [1, 2 ** 33], dtype: 'int64', shape: [2] } });
    // The same in protobuf: the second target of a good request gets a high word.
    const good = encodeForwardBackwardRequest({
      modelId: 'm',
      seqId: 1,
      data: [{ tokens: Int32Array.of(1, 2), targetTokens: Int32Array.of(77, 78), lossInputs: {} }],
      lossFn: 'cross_entropy',
      lossFnConfig: {},
      forwardOnly: false,
    });
    const bytes = Buffer.from(good);
    bytes[bytes.indexOf(78) + 4] = 2;

    expect(() => forwardBackwardRequestFromJson(wide)).toThrow(/target_tokens\[1\] is not a token id/);
    expect(() => decodeForwardBackwardRequest(bytes)).toThrow(
      /target_tokens\[1\] = 8589934670 is not a token id/,
    );
  });

  test('of N×K targets and weights are read, dense and sparse', () => {
    const soft = body({
      target_tokens: { data: [1, 2, 3, 4, 5, 6], dtype: 'int64', shape: [2, 3] },
      weights: {
        data: [0.25, 0.75, 1],
        dtype: 'float32',
        shape: [2, 3],
        sparse_crow_indices: [0, 2, 3],
        sparse_col_indices: [0, 2, 1],
      },
    });

    const request = forwardBackwardRequestFromJson(soft);

    const expected = {
      targetsPerPosition: 3,
      targetTokens: Int32Array.of(1, 2, 3, 4, 5, 6),
      lossInputs: { weights: Float32Array.of(0.25, 0, 0.75, 0, 1, 0) },
    };
    expect(request.data[0]).toMatchObject(expected);
    expect(decodeForwardBackwardRequest(encodeForwardBackwardRequest(request))).toEqual(request);
    expect(forwardBackwardRequestFromJson(forwardBackwardRequestToJson(request))).toEqual(request);
  });

  test.each([
    ['of another number of rows', [3, 2], [0, 2, 4], [0, 1, 0, 1]],
    ['of three dimensions', [2, 2, 1], [0, 2, 4], [0, 1, 0, 1]],
    ['whose columns go back', [2, 2], [0, 2, 4], [1, 0, 0, 1]],
    ['with more columns than it has', [2, 2], [0, 2, 4], [0, 1, 0, 2]],
    ['whose rows go back', [2, 2], [0, 5, 4], [0, 1, 0, 1]],
    ['of more than memory holds', [2, 2 ** 40], [0, 2, 4], [0, 1, 0, 1]],
  ])('%s are refused by name', (_, shape, rowStarts, columns) => {
    const wide = body({
      target_tokens: {
        data: [1, 2, 3, 4],
        dtype: 'int64',
        shape,
        sparse_crow_indices: rowStarts,
        sparse_col_indices: columns,
      },
    });

    expect(() => forwardBackwardRequestFromJson(wide)).toThrow(/"target_tokens"/);
  });

  test('provenance keeps its place', () => {
    const run = { from: 'sampled', sequenceId: 'a:0', offset: 1, length: 2 } as const;
    const request = forwardBackwardRequestFromJson(body({ target_tokens: [3, 4] }));
    const data = request.data.map((datum) => ({
      ...datum,
      provenance: { tokens: [{ ...run, from: 'prompt' as const }], targets: [run] },
    }));

    const read = decodeForwardBackwardRequest(encodeForwardBackwardRequest({ ...request, data }));

    expect(read.data).toEqual(data);
  });

  test('of N×1 values, bare lists and sparse columns are read', () => {
    const request = forwardBackwardRequestFromJson(
      body({
        target_tokens: [3, 4],
        weights: {
          data: [0.5],
          dtype: 'float32',
          shape: [2, 1],
          sparse_crow_indices: [0, 0, 1],
          sparse_col_indices: [0],
        },
        advantages: { data: [1, 2], dtype: 'float32', shape: [2, 1] },
      }),
    );

    expect(request.data[0]?.lossInputs).toEqual({
      weights: Float32Array.of(0, 0.5),
      advantages: Float32Array.of(1, 2),
    });
  });

  test.each([
    ['a target that is too long', { targetTokens: Int32Array.of(1, 2, 3) }, 'target_tokens length 3'],
    ['weights that are too short', { lossInputs: { weights: Float32Array.of(1) } }, 'weights length 1'],
    ['a weight that is not a number', { lossInputs: { weights: Float32Array.of(1, NaN) } }, 'not finite'],
    ['no tokens', { tokens: new Int32Array() }, 'no tokens'],
  ])('%s are refused before they are sent', (_, change, message) => {
    const datum = {
      tokens: Int32Array.of(1, 2),
      targetTokens: Int32Array.of(2, 3),
      lossInputs: {},
      ...change,
    };

    expect(() => {
      checkDatum(datum, 0);
    }).toThrow(message);
  });
});

const OFFICIAL_REQUEST =
  'CglzOnRyYWluOjAQBxq2AQoMCgoKCAEAAAACAAAACggKBgoEAwAAABIhCgphZHZhbnRhZ2VzEhMKDAAAAAAAAAA/AACAvxgBIgEDEjAKDXRhcmdldF90b2tlbnMSHwoYAgAAAAAAAAADAAAAAAAAAAQAAAAAAAAAGAIiAQMSRQoHd2VpZ2h0cxI6EjIKBAAAIEASIAAAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAEAAAAAAAAAGggAAAAAAAAAABgBIgIDARoAIgNwcG8qHQoSY2xpcF9sb3dfdGhyZXNob2xkEZqZmZmZmek/MAE6HwoSY2xpcF9sb3dfdGhyZXNob2xkEgkJmpmZmZmZ6T8=';
const SKYRL_OUTPUT =
  'CgZzY2FsYXISpAISigEKCGxvZ3Byb2JzEn4KYG5oscCYKLvAanK9wLPAssAM37PA0jS5wHT6vsB6v67AaZK3wOE1u8C/RbPAzcC6wG5oscCYKLvAanK9wKFCu8A0nLDACr3DwNPRwMBqta/AWZq3wDmnusACIbTAFTa9wBIYAAAAAAAAAAAwAAAAAAAAAGAAAAAAAAAAGAESkgEKEGVsZW1lbnR3aXNlX2xvc3MSfgpgAAAAgAAAAIAAAACAAAAAgAAAAIAAAACAAAAAgAAAAIAAAACAAAAAgL9Fs0DNwLpAAAAAgAAAAIAAAACAAAAAgAAAAIAAAACAAAAAgAAAAIAAAACAAAAAgAIhtEAVNr1AEhgAAAAAAAAAADAAAAAAAAAAYAAAAAAAAAAYARgC';
const OUTPUT_WITH_METRIC =
  'Cg9Ub3JjaExvc3NSZXR1cm4SchJuCghsb2dwcm9icxJiCjwWlrjAFpa4wBaWuMAWlrjAFpa4wBaWuMAWlrjAFpa4wBaWuMAWlrjAFpa4wBaWuMAWlrjAFpa4wBaWuMASIAAAAAAAAAAAFAAAAAAAAAAoAAAAAAAAADwAAAAAAAAAGAEYAxoTCghsb3NzOnN1bRHUnWORlqFVQA==';
const SAMPLE_WITH_PROMPT_LOGPROBS =
  'Ch4IABIMBwAAAAgAAAAJAAAAGgws47e/DoKTvw6Ck78KJggBEhAHAAAAAwAAAAcAAAAIAAAAGhAs47e/QqLEwCzjt78OgpO/EgwAAMB/DoKTvw6Ck78=';
const SKYRL_SAMPLE =
  'CgwSBMkAAAAaBPidjcAKJBIQ9wAAACgBAAD8AAAAyQAAABoQrX+wwORSrMC9xKzAHD+RwBIooe+4wFW/vMAV7r3AQMm+wEfiusDcor7AXhi9wAHqkcAkpLzAKJi7wA==';
