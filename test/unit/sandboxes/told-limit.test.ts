import { BoundedText } from '../../../src/sandboxes/bounded-text';
import { toldLimit } from '../../../src/sandboxes/told-limit';

test.each([
  [1, 'Traceback\nMemoryError', 'memory'],
  [134, 'terminate called: std::bad_alloc', 'memory'],
  [1, 'OSError: [Errno 27] File too large', 'disk'],
  [1, 'OSError: [Errno 28] No space left on device: "x"', 'disk'],
  [1, 'BlockingIOError: [Errno 11] Resource temporarily unavailable', 'processes'],
  [1, "RuntimeError: can't start new thread", 'processes'],
  [1, 'MemoryError was expected\nAssertionError', null],
  [1, '', null],
  [0, 'MemoryError', null],
] as const)('exit code %d after %j is the limit %s', (exitCode, stderr, limit) => {
  expect(toldLimit(exitCode, stderr)).toBe(limit);
});

test.each([
  ['äöü', 3, 'ä'],
  ['äöü', 4, 'äö'],
  ['a€b', 3, 'a'],
  ['a€b', 4, 'a€'],
  ['a😀', 4, 'a'],
  ['a😀', 5, 'a😀'],
  ['plain', 2, 'pl'],
])('%j cut at %d bytes is %j', (text, limit, kept) => {
  const bounded = new BoundedText(limit);
  for (const byte of Buffer.from(text)) bounded.add(Buffer.from([byte]));

  expect(bounded.text).toBe(kept);
  expect(bounded.isCut).toBe(kept !== text);
});
