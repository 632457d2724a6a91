import fc from 'fast-check';
import {
  asampleRequestFromJson,
  asampleRequestToJson,
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
  readRequestEnvelope,
  sampleResponseFromJson,
  sampleResponseToJson,
} from '../../../../../src/engines/tinker/codec';
import { forwardBackwardRequest, forwardBackwardResult, sampleResult } from './arbitraries';
import { propertyRuns } from '../../../../setup/deep-cases';

const MEBIBYTE = 2 ** 20;

function expectAnswerOrProtocolError(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    expect(error).toMatchObject({ name: 'DomainError', code: 'protocol-error' });
  }
}

/** The ways in which a message is spoilt: each at a place and with a value of its own. */
interface Damage {
  readonly kind: 'set' | 'cut' | 'insert' | 'repeat' | 'drop';
  readonly at: number;
  readonly bytes: Uint8Array;
}

const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom('set', 'cut', 'insert', 'repeat', 'drop'),
  at: fc.nat(),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }),
});

function spoil(message: Uint8Array, { kind, at, bytes }: Damage): Uint8Array {
  const place = at % (message.length + 1);
  const head = message.subarray(0, place);
  const tail = message.subarray(place);
  const rest = tail.subarray(bytes.length);
  if (kind === 'cut') return head;
  if (kind === 'drop') return Buffer.concat([head, rest]);
  if (kind === 'set') return Buffer.concat([head, bytes, rest]);
  if (kind === 'insert') return Buffer.concat([head, bytes, tail]);
  return Buffer.concat([head, tail.subarray(0, bytes.length), tail]);
}

const messages = [
  [
    'a training request',
    forwardBackwardRequest.map(encodeForwardBackwardRequest),
    decodeForwardBackwardRequest,
  ],
  ['a training result', forwardBackwardResult.map(encodeForwardBackwardOutput), decodeForwardBackwardOutput],
  ['a sample', sampleResult.map(encodeSampleResponse), decodeSampleResponse],
] as const;

describe.each(messages)('%s in protobuf', (_, valid, decode) => {
  test('that is spoilt in places ends in an answer or a protocol error', () => {
    fc.assert(
      fc.property(valid, fc.array(damage, { minLength: 1, maxLength: 4 }), (message, damages) => {
        const spoilt = damages.reduce(spoil, message);
        expectAnswerOrProtocolError(() => decode(spoilt));
        expectAnswerOrProtocolError(() => readRequestEnvelope(spoilt));
      }),
      propertyRuns(400),
    );
  });

  test('never gives another message when it is cut within a part', () => {
    fc.assert(
      fc.property(valid, fc.nat(), (message, at) => {
        fc.pre(message.length > 0);
        // Cut where a top-level field ends, a message is a shorter valid one; anywhere else it must be refused.
        const ends = topLevelEnds(message);
        const cut = at % message.length;
        fc.pre(!ends.has(cut));
        expect(() => decode(message.subarray(0, cut))).toThrow(/Malformed/);
      }),
      propertyRuns(300),
    );
  });
});

function topLevelEnds(message: Uint8Array): Set<number> {
  const ends = new Set([0]);
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const wireType = varint() & 7;
    const length = wireType === 0 ? 0 : wireType === 1 ? 8 : 0;
    const value = wireType === 1 ? 0 : varint();
    at += wireType === 2 ? value : length;
    ends.add(at);
  }
  return ends;
}

describe('a small message that claims to be large', () => {
  const claims: Readonly<Record<string, string>> = {
    'a datum of 2^31 bytes': '1a8080808008',
    'a datum of 2^32 - 1 bytes': '1affffffff0f',
    'tokens of 2^31 bytes': '1a0a0a080a060a8080808008',
    'a length that goes on beyond 64 bits': '1affffffffffffffffffffff01',
    'a key of 2^31 bytes': '2a060a8080808008',
  };

  test.each(Object.entries(claims))('%s is refused before anything is set aside for it', (_, hex) => {
    const before = process.memoryUsage().arrayBuffers;
    for (const [, , decode] of messages) {
      for (let time = 0; time < 50; time++)
        expectAnswerOrProtocolError(() => decode(Buffer.from(hex, 'hex')));
    }

    expect(() => decodeForwardBackwardRequest(Buffer.from(hex, 'hex'))).toThrow(/Malformed Tinker message/);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MEBIBYTE);
  });

  const fullOf = (part: string): Buffer => Buffer.alloc(32 * MEBIBYTE, Buffer.from(part, 'hex'));
  const nested = (number: number, content: Buffer): Buffer => {
    const length: number[] = [];
    for (let rest = content.length; rest > 0; rest = Math.floor(rest / 128)) {
      length.push((rest % 128) + (rest >= 128 ? 128 : 0));
    }
    return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), content]);
  };

  test.each<[string, () => Buffer, (bytes: Uint8Array) => unknown]>([
    ['empty datums', () => fullOf('1a00'), decodeForwardBackwardRequest],
    ['empty chunks of one datum', () => nested(3, fullOf('0a00')), decodeForwardBackwardRequest],
    ['empty loss settings', () => fullOf('2a00'), decodeForwardBackwardRequest],
    [
      'dimensions of a tensor',
      () => nested(3, nested(2, nested(2, nested(4, fullOf('01'))))),
      decodeForwardBackwardRequest,
    ],
    ['empty sequences', () => fullOf('0a00'), decodeSampleResponse],
    ['empty records', () => fullOf('1200'), decodeForwardBackwardOutput],
    ['metrics', () => fullOf('1a00'), decodeForwardBackwardOutput],
  ])('of %s is refused before they are built', (_, build, decode) => {
    const bytes = build();
    const before = process.memoryUsage().heapUsed;

    expect(() => decode(bytes)).toThrow(/more than 1000000 parts/);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * MEBIBYTE);
  });

  test('of fields nobody knows is read without keeping them', () => {
    const bytes = fullOf('9a0600'); // field 99, empty
    const before = process.memoryUsage().heapUsed;

    expect(decodeForwardBackwardRequest(bytes.subarray(0, 3 * 2 ** 20)).data).toEqual([]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * MEBIBYTE);
  });
});

test('a name that would vanish into the prototype of an object is refused', () => {
  const request = Buffer.from(
    encodeForwardBackwardRequest({
      modelId: 'm',
      seqId: 1,
      data: [
        {
          tokens: Int32Array.of(1),
          targetTokens: Int32Array.of(1),
          lossInputs: { __prot0__: Float32Array.of(1) },
        },
      ],
      lossFn: 'cross_entropy',
      lossFnConfig: {},
      forwardOnly: false,
    }),
  );
  request.write('__proto__', request.indexOf('__prot0__'));

  expect(() => decodeForwardBackwardRequest(request)).toThrow(/key "__proto__"/);
});

describe('JSON with one part exchanged for anything', () => {
  const bodies = [
    [
      'a training request',
      forwardBackwardRequest.map(forwardBackwardRequestToJson),
      forwardBackwardRequestFromJson,
    ],
    [
      'a training result',
      forwardBackwardResult.map(forwardBackwardOutputToJson),
      forwardBackwardOutputFromJson,
    ],
    ['a sample', sampleResult.map(sampleResponseToJson), sampleResponseFromJson],
    [
      'a sampling request',
      fc.constant(
        asampleRequestToJson({
          samplingSessionId: 's',
          modelPath: null,
          baseModel: null,
          seqId: 1,
          request: {
            prompt: [1, 2],
            numSamples: 1,
            params: { maxTokens: 1, temperature: 1, topK: -1, topP: 1, seed: 1, stop: ['x'] },
          },
        }),
      ),
      asampleRequestFromJson,
    ],
  ] as const;
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>(null, -1, 0.5, 1e308, 2 ** 53, '', '__proto__', [], {}, [[]], { length: 1e9 }),
  );

  test.each(bodies)('%s ends in an answer or a protocol error', (_, valid, read) => {
    fc.assert(
      fc.property(valid, fc.nat(), anything, (body, at, value) => {
        const text = JSON.parse(JSON.stringify(body)) as unknown;
        expectAnswerOrProtocolError(() => read(exchanged(text, { at, value })));
      }),
      propertyRuns(400),
    );
  });
});

/** The value with its part number `at`, counted from outside to inside, exchanged. */
function exchanged(whole: unknown, { at, value }: { readonly at: number; readonly value: unknown }): unknown {
  const holders: (readonly [Record<string, unknown>, string])[] = [];
  const visit = (holder: unknown): void => {
    if (typeof holder !== 'object' || holder === null) return;
    // Lists are objects with numbers for keys.
    const keyed = holder as Record<string, unknown>;
    for (const key of Object.keys(keyed)) {
      holders.push([keyed, key]);
      visit(keyed[key]);
    }
  };
  visit(whole);
  const chosen = holders[at % Math.max(1, holders.length)];
  if (chosen) chosen[0][chosen[1]] = value;
  return whole;
}
