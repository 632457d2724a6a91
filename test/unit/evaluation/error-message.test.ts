import { messageOf } from '../../../src/evaluation/error-message';

function thrower(): never {
  throw new Error('asked');
}

test.each([
  ['an error', new Error('boom'), 'boom'],
  ['a text', 'boom', 'boom'],
  ['null', null, 'null'],
  ['an object that says nothing', { message: 3 }, '[object Object]'],
  ['one that throws when it is asked', new Proxy({}, { has: thrower }), 'an error that cannot be shown'],
  [
    'one whose message throws',
    Object.defineProperty({}, 'message', { get: thrower }),
    'an error that cannot be shown',
  ],
  ['one without a text', Object.create(null), 'an error that cannot be shown'],
  ['a message without end', new Error('x'.repeat(20_000)), `${'x'.repeat(10_000)}…`],
])('%s is told', (_what, error, message) => {
  expect(messageOf(error)).toBe(message);
});
