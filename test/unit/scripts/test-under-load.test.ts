import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

interface TimeResult {
  readonly isPassed: boolean;
  readonly failed: readonly string[];
}

interface TestUnderLoadScript {
  readonly BUSY_LOOP: string;
  failuresIn: (report: unknown) => string[];
  readLoadOptions: (args: string[]) => { loops: number; times: number; patterns: string[] };
  runTimes: (
    options: { loops: number; times: number },
    runOnce: () => Promise<TimeResult>,
    say: (line: string) => void,
  ) => Promise<number>;
}

const { BUSY_LOOP, failuresIn, readLoadOptions, runTimes } = jest.requireActual<TestUnderLoadScript>(
  '../../../scripts/test-under-load.js',
);
const ROOT = path.resolve(__dirname, '../../..');

test('runs the patterns three times beside six busy loops where nothing else is asked for', () => {
  expect(readLoadOptions(['test/unit/core'])).toEqual({ loops: 6, times: 3, patterns: ['test/unit/core'] });
});

test.each([
  ['--loops', '-1'],
  ['--loops', 'many'],
  ['--times', '0'],
])('refuses %s %s by name', (name, value) => {
  expect(() => readLoadOptions([`${name}=${value}`])).toThrow(`${name} is "${value}"`);
});

async function run(results: readonly TimeResult[]): Promise<{ code: number; said: string }> {
  const said: string[] = [];
  let time = 0;
  const runOnce = async () => results[time++] ?? { isPassed: true, failed: [] };
  const code = await runTimes({ loops: 2, times: 3 }, runOnce, (line) => said.push(line));
  return { code, said: said.join('\n').replace(/\(\d+\.\d s\)/g, '(… s)') };
}

test('fails when one time of several failed, and says which tests how often', async () => {
  const flaky = { isPassed: false, failed: ['a.test.ts: waits'] };

  const { code, said } = await run([flaky, { isPassed: true, failed: [] }, flaky]);

  expect(code).toBe(1);
  expect(said).toBe(
    [
      'Time 1 of 3 beside 2 busy loops: FAILED (… s)',
      'Time 2 of 3 beside 2 busy loops: passed (… s)',
      'Time 3 of 3 beside 2 busy loops: FAILED (… s)',
      'Failed 2 of 3 times.',
      '  2 of 3: a.test.ts: waits',
    ].join('\n'),
  );
});

test('passes when every time passed', async () => {
  const { code, said } = await run([]);

  expect(code).toBe(0);
  expect(said).toContain('Failed 0 of 3 times.');
});

test('names the failed tests of a report, and a suite that could not be run by its file', () => {
  const report = {
    testResults: [
      { name: path.join(ROOT, 'test/a.test.ts'), status: 'passed', assertionResults: [] },
      {
        name: path.join(ROOT, 'test/b.test.ts'),
        status: 'failed',
        assertionResults: [
          { status: 'passed', fullName: 'stands' },
          { status: 'failed', fullName: 'falls over' },
        ],
      },
      { name: path.join(ROOT, 'test/c.test.ts'), status: 'failed', assertionResults: [] },
    ],
  };

  expect(failuresIn(report)).toEqual([
    path.join('test', 'b.test.ts') + ': falls over',
    path.join('test', 'c.test.ts'),
  ]);
});

test('a busy loop ends with a parent that is killed', async () => {
  const program = `
    require('node:child_process')
      .spawn(process.execPath, ['-e', ${JSON.stringify(BUSY_LOOP)}, String(process.pid)], { stdio: 'inherit' })
      .once('spawn', () => process.stdout.write('looping'));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(parent.stdout, 'data');

  parent.kill('SIGKILL');

  // The pipe is closed when nobody holds its other end, and the loop has inherited it.
  await once(parent, 'close');
  expect(parent.signalCode).toBe('SIGKILL');
});
