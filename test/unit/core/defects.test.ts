import { isDefect, isUnforeseen, Streaks } from '../../../src/core/defects';
import { DomainError } from '../../../src/core/errors';

test.each([
  ['a name that is not defined', new ReferenceError('units is not defined')],
  ['a method that is not there', new TypeError('row.map is not a function')],
  [
    'an argument that Node refuses',
    Object.assign(new TypeError('must be of type string'), { code: 'ERR_INVALID_ARG_TYPE' }),
  ],
  ['an error of another realm', { name: 'TypeError', message: 'x is not iterable' }],
])('%s is a defect', (_, error) => {
  expect(isDefect(error)).toBe(true);
});

test.each([
  ['what the system refuses', Object.assign(new Error('no such file'), { code: 'ENOENT' })],
  ['what fetch calls the network', new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })],
  ['any other error', new Error('the server is away')],
  ['a text', 'TypeError'],
  ['nothing', undefined],
])('%s is none', (_, error) => {
  expect(isDefect(error)).toBe(false);
});

test.each([
  ['what code throws', new Error('my loss is broken')],
  ['what it throws on account of something', new Error('broken', { cause: new TypeError('x') })],
  ['a text', 'broken'],
  ['an error of another realm', { name: 'Error', message: 'broken' }],
])('%s is unforeseen', (_, error) => {
  expect(isUnforeseen(error)).toBe(true);
});

test.each([
  ['what the system refuses', Object.assign(new Error('full'), { code: 'ENOSPC' })],
  ['what a service says by number', Object.assign(new Error('14 UNAVAILABLE'), { code: 14 })],
  ['what is behind an error', new Error('x', { cause: Object.assign(new Error('y'), { code: 'EMFILE' }) })],
  ['a failure that the domain names', new Error('x', { cause: new DomainError('sandbox-lost', 'lost') })],
  ['the end of what was called off', new DOMException('aborted', 'AbortError')],
  ['an error with a name of its own', Object.assign(new Error('x'), { name: 'CancelledFailure' })],
])('%s is not', (_, error) => {
  expect(isUnforeseen(error)).toBe(false);
});

test('streaks are counted by name, and the oldest forgotten', () => {
  const streaks = new Streaks();
  expect([streaks.extend('a'), streaks.extend('a'), streaks.extend('b')]).toEqual([1, 2, 1]);
  for (let index = 0; index < 1000; index++) streaks.extend(`${index}`);
  expect(streaks.extend('a')).toBe(1);
  streaks.end('a');
  expect(streaks.extend('a')).toBe(1);
});
