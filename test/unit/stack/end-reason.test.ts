import { fatalWords, reasonOfEnd } from '../../../src/stack/end-reason';
import { describeFullDisk } from '../../../src/stack/full-disk';
import { tellSeldom } from '../../../src/stack/seldom';

const END = Date.parse('2026-11-27T15:13:28.900');

describe('why a service ended, by its log', () => {
  test('is what the Temporal server complained of last', () => {
    const log = [
      'Temporal server ready at 127.0.0.1:7233 (namespace everstep)',
      'time=2026-11-27T15:13:28.252 level=ERROR msg="Operation failed with internal error." error="UpdateShard operation failed. Error: database or disk is full (13)" error-type=serviceerror.Unavailable operation=UpdateShard',
      '{"level":30,"service":"temporal","msg":"stopping"}',
    ].join('\n');

    expect(reasonOfEnd(log, END)).toBe('UpdateShard operation failed. Error: database or disk is full (13)');
  });

  test.each([
    [
      'everstep: Port 7233 is in use. Choose another with --port.',
      'Port 7233 is in use. Choose another with --port.',
    ],
    ['{"level":50,"err":{"message":"no room\\nat once"},"msg":"segment failed"}', 'no room'],
    ['{"level":60,"msg":"out of memory"}', 'out of memory'],
    [
      'x.js:1\nthrow\n\nTypeError: x is not a function\n    at main (x.js:1)\n\nNode.js v20.20.2',
      'x is not a function',
    ],
    ['everstep: \u001b[31mred\u001b[0m', '\\x1b[31mred\\x1b[0m'],
  ])('is the error line that %j ends with', (log, reason) => {
    expect(reasonOfEnd(log, END)).toBe(reason);
  });

  test.each([
    ['nothing: an error of another run, long before', 50, 20_000, null],
    ['one that was written just before', 50, 900, 'a promise nobody waits for was rejected'],
    ['a fatal one, whenever it was written', 60, 20_000, 'a promise nobody waits for was rejected'],
  ])('is %s', (_what, level, agoMs, reason) => {
    const line = {
      level,
      time: new Date(END - agoMs).toISOString(),
      msg: 'a promise nobody waits for was rejected',
    };
    const later = { level: 30, time: new Date(END - 10).toISOString(), msg: 'stopping' };

    expect(reasonOfEnd(`${JSON.stringify(line)}\n${JSON.stringify(later)}\n`, END)).toBe(reason);
  });

  test('is no error without a time that stands above an old line', () => {
    const old = { level: 30, time: new Date(END - 20_000).toISOString(), msg: 'ready' };

    expect(reasonOfEnd(`TypeError: of another run\n${JSON.stringify(old)}\n`, END)).toBeNull();
    expect(reasonOfEnd(`${JSON.stringify(old)}\nTypeError: mine\n    at x\n`, END)).toBe('mine');
  });

  test('is short, and null where no line tells an error', () => {
    expect(reasonOfEnd(`everstep: ${'long '.repeat(400)}`, END)?.length).toBe(300);
    expect(reasonOfEnd('worker ready 12\n{"level":30,"msg":"stopping"}\n{"level":\n', END)).toBeNull();
  });
});

test('a full disk is named by what programs say of it, and one with room is not', () => {
  expect(describeFullDisk('/')).toBeNull();
  expect(describeFullDisk('/', 'the port is taken')).toBeNull();
  expect(describeFullDisk('/', 'database or disk is full (13)')).toMatch(
    /^the disk of \/ \([\d.]+ MB free\) took no more: it was full, or a quota is used up$/,
  );
  expect(describeFullDisk('/nowhere/at/all')).toBeNull();
  // Nothing is ever free there.
  expect(describeFullDisk('/proc')).toBe('the disk of /proc is full (0.0 MB free)');
});

test('a line that only its numbers change is said at growing intervals, another at once', () => {
  const said: string[] = [];
  let now = 0;
  const tell = tellSeldom(
    (line) => said.push(line),
    () => now,
  );
  for (; now < 400_000; now += 10_000) tell(`full, ${now} free`);
  tell('damaged');
  tell('full, 0 free');

  expect(said).toEqual([
    'full, 0 free',
    'full, 60000 free (5 times more since it was last said.)',
    'full, 180000 free (11 times more since it was last said.)',
    'damaged',
    'full, 0 free',
  ]);
});

describe('what a service wrote that a signal ended', () => {
  test.each([
    [
      'everstep: this worker did nothing for 60 s: a plug-in blocks it.\n',
      'this worker did nothing for 60 s: a plug-in blocks it.',
    ],
    [
      'ready\n<--- Last few GCs --->\nFATAL ERROR: Reached heap limit Allocation failed\n----- Native stack trace -----\n',
      'Reached heap limit Allocation failed',
    ],
    ['{"level":60,"msg":"out of memory"}\n{"level":30,"msg":"stopping"}', 'out of memory'],
  ])('is told where it ended by it: %j', (log, words) => {
    expect(fatalWords(log)).toBe(words);
  });

  test.each(['', '{"level":50,"msg":"segment failed"}\n', 'TypeError: x is not a function\n'])(
    'is not told where somebody else may have ended it: %j',
    (log) => {
      expect(fatalWords(log)).toBeNull();
    },
  );
});
