import { findRowGrader } from '../../../../../src/evaluation/graders/find-row-grader';
import { BubblewrapKind } from '../../../../../src/sandboxes/bubblewrap/bubblewrap-kind';
import { Leases } from '../../../../../src/sandboxes/leases/leases';
import { processSandboxes } from '../../../../../src/sandboxes/process-sandboxes';
import type { ExecOptions, ExecResult, Sandbox, SilenceLimit } from '../../../../../src/sandboxes/sandbox';

const ONE_TEST_MS = 60_000;
const kind = new BubblewrapKind(new Leases());
let asked: (SilenceLimit | undefined)[] = [];
let results: ExecResult[] = [];

/** As it is, but for the time of one test. */
async function impatientSandbox(): Promise<Sandbox> {
  const sandbox = await kind.open();
  return {
    kind: sandbox.kind,
    async exec(argv, options: ExecOptions = {}) {
      asked.push(options.silence);
      const result = await sandbox.exec(argv, {
        ...options,
        ...(options.silence && { silence: { ...options.silence, limitMs: 1000 } }),
      });
      results.push(result);
      return result;
    },
    writeFile: (file, content) => sandbox.writeFile(file, content),
    readFile: (file) => sandbox.readFile(file),
    close: () => sandbox.close(),
  };
}

beforeAll(async () => {
  await processSandboxes.close();
  processSandboxes.bring({ factory: impatientSandbox, file: __filename });
});
beforeEach(() => {
  [asked, results] = [[], []];
});
afterAll(() => processSandboxes.close());

const COUNT = 500;
const row = {
  test_list: Array.from({ length: COUNT }, (_, index) => `assert f(${index}) == ${index * index}`),
};
const graded = (code: string) => findRowGrader('code_tests').grade(`\`\`\`python\n${code}\n\`\`\``, row);
const BLOCKS =
  'import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGPROF])\ndef f(x):\n    while True: pass';
const STOPS =
  'import os, signal\ndef f(x):\n    if x == 2: os.kill(os.getpid(), signal.SIGSTOP)\n    return x * x';

/** What all tests together may take is hours. */
test.each([
  ['stops itself', STOPS],
  ['blocks the timers', BLOCKS],
  ['takes the timers away', BLOCKS.replace(/signal\.pthread.*/, 'signal.setitimer = lambda *a: None')],
])('a program that %s is ended by the time of one test', async (_name, code) => {
  const score = await graded(code);

  expect(score).toMatchObject({ value: 0, details: { limit: 'time' } });
  expect(asked).toEqual([{ limitMs: ONE_TEST_MS, lineCount: COUNT }]);
});

test('a test that is done is told at once', async () => {
  await graded(STOPS);

  expect(results[0]?.stdout.trimEnd().split('\n')).toHaveLength(2);
});

test('tests are judged within the same time, and a verdict stands', async () => {
  const score = await graded('def f(x): return x * x');

  expect(score).toMatchObject({ value: 1, details: { passed: COUNT } });
  expect(asked).toEqual(Array(2).fill({ limitMs: ONE_TEST_MS, lineCount: COUNT }));
});
