import { askableError, messageOf } from '../../../src/evaluation/error-message';

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

test.each([
  ['an error', new Error('boom')],
  ['a text', 'boom'],
  ['an object that says nothing', {}],
])('%s is asked as it is', (_what, error) => {
  expect(askableError(error)).toBe(error);
});

test('what throws whatever it is asked becomes an error that says so', () => {
  const traps = { get: thrower, has: thrower, ownKeys: thrower, getPrototypeOf: thrower };

  expect(askableError(new Proxy({}, traps))).toEqual(new Error('an error that cannot be shown'));
});
