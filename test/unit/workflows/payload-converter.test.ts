import { defaultPayloadConverter } from '@temporalio/common';
import { payloadConverter } from '../../../src/workflows/payload-converter';

const bytes = (text: string) => new TextEncoder().encode(text);

test.each<[string, unknown]>([
  ['an object', { step: 3, name: 'é' }],
  ['null', null],
  ['nothing', undefined],
  ['bytes', bytes('a')],
])('reads and writes %s as Temporal does', (_, value) => {
  const payload = payloadConverter.toPayload(value);

  expect(payload).toEqual(defaultPayloadConverter.toPayload(value));
  expect(payloadConverter.fromPayload(payload)).toEqual(value);
});

test.each([
  ['an encoding that nobody has', { metadata: { encoding: bytes('binary/encrypted') }, data: bytes('x') }],
  ['one of other languages', { metadata: { encoding: bytes('json/protobuf') }, data: bytes('{}') }],
  ['text that is no JSON', { metadata: { encoding: bytes('json/plain') }, data: bytes('{') }],
  ['no encoding', { metadata: {}, data: bytes('1') }],
  ['no metadata', { data: bytes('1') }],
])('takes %s for nothing', (_, payload) => {
  expect(payloadConverter.fromPayload(payload)).toBeUndefined();
});
