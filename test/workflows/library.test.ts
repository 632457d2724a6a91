import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Everstep } from '../../src/client/everstep';
import { HeldTraining } from './harness/held-training';
import { until } from './harness/runs';
import { TestStack } from './harness/stack';

const ROOT = resolve(__dirname, '../..');
const GUIDE = readFileSync(join(ROOT, 'docs/library.md'), 'utf8');
const EXAMPLES = [...GUIDE.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const run = promisify(execFile);

let training: HeldTraining;
let stack: TestStack;
let folder: string;

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  await stack.startWorkers();
  // A program loads what is built, which the command sees to.
  await run(process.execPath, [join(ROOT, 'bin/everstep.js'), 'train', '--help'], {
    env: { ...process.env, EVERSTEP_NO_BUILD: '' },
  });
  folder = join(stack.folder, 'program');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  // As somebody has it who installed the package.
  symlinkSync(ROOT, join(folder, 'node_modules', 'everstep'));
  symlinkSync(join(ROOT, 'data'), join(folder, 'data'));
  writeFileSync(join(folder, 'guide.ts'), programOf(EXAMPLES));
});

afterAll(async () => {
  training.letAllGo();
  await stack.stop();
  await training.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One program, so that an example may use what those before it made. */
function programOf(examples: readonly string[]): string {
  const body = examples.map((text, index) => `console.error('example ${index + 1}');\n${text}`).join('\n');
  return [
    `import { Everstep } from 'everstep';`,
    'const [address, namespace, store, dataFolder] = process.argv.slice(2);',
    'async function main(): Promise<void> {',
    body,
    '}',
    'main().catch((error: unknown) => {',
    '  console.error(error);',
    '  process.exit(1);',
    '});',
    '',
  ].join('\n');
}

test('there is an example of each call', () => {
  const calls = [
    ...[
      'connect',
      'train',
      'run',
      'runs.list',
      'runs.page',
      'evaluate',
      'backfill',
      'schedules.create',
      'close',
    ],
    ...[
      'status',
      'scores',
      'metrics',
      'checkpoints',
      'evaluations',
      'controls',
      'timeline',
      'best',
      'result',
    ],
    ...[
      'pause',
      'resume',
      'stop',
      'cancel',
      'setLearningRate',
      'setEvalSchedule',
      'runEvaluation',
      'setBudget',
    ],
    'promote',
  ];
  const text = EXAMPLES.join('\n');

  expect(calls.filter((call) => !text.includes(`.${call}(`))).toEqual([]);
});

test('the examples of the guide compile', async () => {
  const options = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: true,
      noUnusedLocals: false,
      noUncheckedIndexedAccess: false,
      skipLibCheck: true,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    files: ['guide.ts'],
    include: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));

  const problems = await run(process.execPath, [
    join(ROOT, 'node_modules/typescript/lib/tsc.js'),
    ...['-p', folder, '--pretty', 'false'],
  ]).then(
    () => '',
    (failure: unknown) => (failure as { readonly stdout: string }).stdout,
  );

  expect(problems.split('\n').filter((line) => line.startsWith('guide.ts'))).toEqual([]);
});

/** Its runs are long, so that a reader may try what the guide says; here they stand until they are told to end. */
async function runGuide(): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const [first, second] = [training.holdNext(25), training.holdNext(12)];
  const jiti = join(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs');
  const places = [stack.address, stack.namespace, join(stack.folder, 'store'), stack.folder];
  const guide = run(process.execPath, [jiti, 'guide.ts', ...places], { cwd: folder });
  const over = new AbortController();
  const untilTold = async (name: string, control: string) =>
    until(async () => {
      const rows = await stack.store.readControls(name);
      return over.signal.aborted || rows.some((row) => row.control === control) ? true : null;
    });
  const endRuns = async () => {
    await untilTold('first', 'stop');
    first.letGo();
    await untilTold('second', 'cancel');
    second.letGo();
  };
  const ending = endRuns();
  try {
    return await guide;
  } finally {
    over.abort();
    await ending;
  }
}

test('the examples of the guide run, one after the other', async () => {
  const { stdout, stderr } = await runGuide();

  expect(stderr).toContain(`example ${EXAMPLES.length}`);
  expect(stdout).toContain('stopped');
  expect(stdout).toContain('cancelled');
  expect(stdout).toContain("'watch-first', 'every 6h', true");
});

test('what runs are searched by is as they ended, and the server answers by it', async () => {
  const { typedSearchAttributes } = await stack.client.workflow.getHandle('train/first').describe();
  const { step } = JSON.parse(readFileSync(join(stack.folder, 'store/runs/first/state.json'), 'utf8')) as {
    step: number;
  };
  const everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
  });

  const { runs, answeredBy } = await everstep.runs.page({
    where: 'EverstepRun STARTS_WITH "fir" AND EverstepScore >= 0 AND EverstepStatus = "stopped"',
  });

  const shown = Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
  expect(shown).toMatchObject({
    EverstepKind: 'sft',
    EverstepRun: 'first',
    EverstepModel: 'everstep/tiny',
    EverstepStatus: 'stopped',
    EverstepStep: step,
    EverstepScore: expect.any(Number) as number,
  });
  expect([answeredBy, runs.map(({ run: name }) => name)]).toEqual(['server', ['first']]);
  await everstep.close();
});
