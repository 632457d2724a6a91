import path from 'node:path';

interface Run {
  readonly code: number;
  readonly report: { readonly testResults: readonly object[] } | null;
}

interface TestOptions {
  readonly jestArguments: readonly string[];
  readonly isOnce: boolean;
}

interface TestSuitesScript {
  readTestOptions: (args: string[]) => TestOptions;
  runTwice: (
    options: TestOptions,
    runOnce: (list: string[]) => Promise<Run>,
  ) => Promise<{ isPassed: boolean }>;
  describeOutcome: (outcome: object) => string;
}

const { describeOutcome, readTestOptions, runTwice } = jest.requireActual<TestSuitesScript>(
  '../../../scripts/test-suites.js',
);
const ROOT = path.resolve(__dirname, '../../..');

function suite(name: string, ...statuses: string[]) {
  const status = statuses.includes('failed') ? 'failed' : 'passed';
  return {
    name: path.join(ROOT, name),
    status,
    assertionResults: statuses.map((each) => ({ status: each })),
  };
}

/** Hands out the runs one after another and keeps what was asked for. */
function jestOf(...runs: Run[]) {
  const asked: string[][] = [];
  const runOnce = (list: string[]) => {
    asked.push(list);
    return Promise.resolve(runs[asked.length - 1] as Run);
  };
  return { asked, runOnce };
}

test('counts a run in which everything passes', async () => {
  const { asked, runOnce } = jestOf({
    code: 0,
    report: {
      testResults: [suite('test/a.test.ts', 'passed', 'pending'), suite('test/b.test.ts', 'passed', 'todo')],
    },
  });

  const outcome = await runTwice({ jestArguments: ['--selectProjects', 'quick'], isOnce: false }, runOnce);

  expect(asked).toEqual([['--selectProjects', 'quick']]);
  expect(outcome.isPassed).toBe(true);
  expect(describeOutcome(outcome)).toBe('2 passed, 0 failed, 2 skipped');
});

test('names a suite that passes by itself as unsteady, and passes', async () => {
  const { asked, runOnce } = jestOf(
    {
      code: 1,
      report: {
        testResults: [suite('test/a.test.ts', 'passed'), suite('test/b.test.ts', 'failed', 'passed')],
      },
    },
    { code: 0, report: { testResults: [suite('test/b.test.ts', 'passed', 'passed')] } },
  );

  const outcome = await runTwice({ jestArguments: [], isOnce: false }, runOnce);

  expect(asked[1]).toEqual(['--runInBand', '--runTestsByPath', path.join(ROOT, 'test/b.test.ts')]);
  expect(outcome.isPassed).toBe(true);
  expect(describeOutcome(outcome).split('\n')).toEqual([
    '1 suite was unsteady: test/b.test.ts',
    '3 passed, 0 failed, 0 skipped',
  ]);
});

test('fails by a suite that fails twice, and tells the unsteady ones apart', async () => {
  const { runOnce } = jestOf(
    {
      code: 1,
      report: { testResults: [suite('test/a.test.ts', 'failed'), suite('test/b.test.ts', 'failed')] },
    },
    {
      code: 1,
      report: { testResults: [suite('test/a.test.ts', 'failed'), suite('test/b.test.ts', 'passed')] },
    },
  );

  const outcome = await runTwice({ jestArguments: [], isOnce: false }, runOnce);

  expect(outcome.isPassed).toBe(false);
  expect(describeOutcome(outcome).split('\n')).toEqual([
    '1 suite was unsteady: test/b.test.ts',
    'Failed: test/a.test.ts',
    '1 passed, 1 failed, 0 skipped',
  ]);
});

test.each<{ readonly name: string; readonly runs: readonly Run[]; readonly isOnce: boolean }>([
  {
    name: 'with --once',
    runs: [{ code: 1, report: { testResults: [suite('test/a.test.ts', 'failed')] } }],
    isOnce: true,
  },
  { name: 'where nothing could be run', runs: [{ code: 1, report: null }], isOnce: false },
  {
    name: 'where all tests passed and jest did not',
    runs: [{ code: 1, report: { testResults: [suite('test/a.test.ts', 'passed')] } }],
    isOnce: false,
  },
])('gives no second chance $name', async ({ runs, isOnce }) => {
  const { asked, runOnce } = jestOf(...runs);

  const outcome = await runTwice({ jestArguments: [], isOnce }, runOnce);

  expect(asked).toHaveLength(1);
  expect(outcome.isPassed).toBe(false);
  expect(describeOutcome(outcome)).toMatch(/\d+ passed, 1 failed, 0 skipped$/);
});

test('counts a suite that could not be loaded as one failure', async () => {
  const broken = { ...suite('test/a.test.ts'), status: 'failed' };
  const { runOnce } = jestOf(
    { code: 1, report: { testResults: [broken] } },
    { code: 1, report: { testResults: [broken] } },
  );

  const outcome = await runTwice({ jestArguments: [], isOnce: false }, runOnce);

  expect(describeOutcome(outcome)).toContain('0 passed, 1 failed, 0 skipped');
});

test.each([
  [['quick'], ['--selectProjects', 'quick'], false],
  [['quick', '--once'], ['--selectProjects', 'quick'], true],
  [['quick', '--bail'], ['--selectProjects', 'quick', '--bail'], false],
  [['stack', 'test/e2e/serve'], ['test/e2e/serve'], false],
])('reads %j', (args, jestArguments, isOnce) => {
  expect(readTestOptions(args)).toEqual({ jestArguments, isOnce });
});
