/**
 * Inspect AI: its own tasks on checkpoints of ours, inside a training run and by themselves, and logs of ours in its own reader. A
 * worker that is killed while a task runs costs no sampled token and leaves no process.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { readEnvironment } from '../../src/config/environment';
import { findInspectEnvironment } from '../../src/evaluation/inspect/run/python-environment';
import { findStack } from '../../src/stack/stack-record';
import type { Site } from './engine-suite';
import { PROGRAM, ROOT, cleanEnvironment, runProgram, startProgram, stopChild } from './processes';
import type { CheckResult, ClientResult } from './results';
import { failed, skipped, tryInTurn } from './results';
import type { Workplace } from './worker-suite';
import { everstepJson, placeFlags, sampledBy, until } from './worker-suite';

const TASKS = path.join(__dirname, 'python/inspect_tasks.py');
const READER = path.join(__dirname, 'python/inspect_logs.py');
const COUNT = 400;
const SETUP_TIMEOUT_MS = 20 * 60_000;

const Report = z.object({
  dir: z.string(),
  benchmarks: z.array(
    z.object({
      name: z.string(),
      score: z.number(),
      numExamples: z.number(),
      numErrors: z.number(),
      passAtK: z.record(z.string(), z.number()),
    }),
  ),
});
const ScoreRow = z.object({
  step: z.number(),
  key: z.string(),
  value: z.number().nullable(),
  error: z.string().optional(),
});
const Matrix = z.object({ cells: z.array(z.object({ status: z.string() })) });
const ReadLog = z.object({
  status: z.string(),
  task: z.string(),
  metrics: z.record(z.string(), z.number()),
  values: z.array(z.number().nullable()),
  complete: z.boolean(),
  told: z.boolean(),
  summaries: z.number(),
});

export async function checkInspect(site: Site): Promise<ClientResult> {
  const words = [process.execPath, PROGRAM, 'inspect', 'setup'];
  site.onProgress('Setting up Inspect AI (from PyPI on first use)…');
  const setup = await runProgram(words, { environment: cleanEnvironment(), timeoutMs: SETUP_TIMEOUT_MS });
  if (setup.code !== 0) {
    const check = (site.allowSkip ? skipped : failed)('environment', setup.stderr.slice(-800));
    site.onCheck(check);
    return { client: 'inspect-ai', checks: [check] };
  }
  const { python, inspectVersion } = await findInspectEnvironment(readEnvironment().cacheFolder);
  const folder = path.join(site.folder, 'inspect');
  await mkdir(folder, { recursive: true });
  const dev = ['dev', '--headless', '--data-dir', path.join(folder, 'state')];
  const stack = await startProgram([process.execPath, PROGRAM, ...dev], 'Ctrl-C');
  try {
    const record = findStack(path.join(folder, 'state'));
    if (!record) throw new Error('The stack left no record.');
    const { temporalAddress: address, engineUrl } = record;
    const place = { folder, python, address, engineUrl };
    return { client: `inspect-ai ${inspectVersion}`, checks: await runChecks(site, place) };
  } finally {
    await stopChild(stack);
  }
}

function runChecks(site: Site, place: Workplace): Promise<CheckResult[]> {
  return tryInTurn(site, [
    ['a task is an infrequent evaluator of a training run', () => evaluatesWhileTraining(place)],
    ['checkpoints of a run that has ended get a task by backfill, once', () => backfills(place)],
    ['a task that cannot be made is an error and training goes on', () => reportsBroken(place)],
    ['a task by itself, and its result as a log in its own reader', () => exportsLogs(place)],
    ['parts of a score, a judge of its own, two tasks of one name', () => evaluatesEveryKind(place)],
    [
      'another argument, another file and a misspelt name are never answered with what is stored',
      () => asksAnew(place),
    ],
    ['a worker killed midway costs no token and leaves no process', () => survivesKill(place)],
  ]);
}

async function evaluatesWhileTraining(place: Workplace): Promise<string> {
  const rows = await train(place, 'measured', `${TASKS}@sums`);
  const found = rows.filter(({ key }) => key.startsWith('test/additions/'));
  const keys = [...new Set(found.map(({ step, key }) => `${step} ${key}`))].sort();
  const wanted = [0, 4, 8].flatMap((step) =>
    ['test/additions/accuracy', 'test/additions/includes/accuracy'].map((key) => `${step} ${key}`),
  );
  if (keys.join() !== wanted.sort().join())
    throw new Error(`scores: ${rows.map(({ key, error }) => error ?? key).join(', ')}`);
  return `${found.length} scores`;
}

/** Step 8 has the run's own evaluation, asked of four sums; the one of five nobody asked. */
async function backfills(place: Workplace): Promise<string> {
  const fill = (task: string) => {
    const matrix = [
      'backfill',
      '--runs',
      'measured',
      '--steps',
      '8',
      '--benchmarks',
      `inspect:${TASKS}@${task}`,
    ];
    return sampledBy(place, () =>
      everstepJson([...matrix, '--max-tokens', '8', ...placeFlags(place), '--json']),
    );
  };
  const statusOf = (answer: unknown) =>
    Matrix.parse(answer)
      .cells.map(({ status }) => status)
      .join();
  const [own, first, again] = [await fill('sums'), await fill('sums?count=5'), await fill('sums?count=5')];
  const found = [own, first, again].map(({ answer }) => statusOf(answer)).join(' ');
  if (found !== 'present done present') throw new Error(found);
  if (own.tokens !== 0 || first.tokens === 0 || again.tokens !== 0)
    throw new Error(`${own.tokens}, ${first.tokens} and ${again.tokens} tokens`);
  return `${first.tokens} tokens sampled once`;
}

async function reportsBroken(place: Workplace): Promise<string> {
  const rows = await train(place, 'broken', `${TASKS}@broken`);
  const errors = rows.flatMap(({ error }) => error ?? []);
  if (!errors.some((error) => error.includes('this task cannot be made'))) throw new Error(errors.join('; '));
  return `${errors.length} steps reported`;
}

async function train(place: Workplace, run: string, task: string): Promise<z.infer<typeof ScoreRow>[]> {
  const file = path.join(place.folder, `${run}.yaml`);
  await writeFile(
    file,
    JSON.stringify({
      ...{ kind: 'sft', model: 'everstep/tiny', steps: 8, batchSize: 16, loraRank: 0, learningRate: 0.003 },
      dataset: { path: path.join(ROOT, 'data/arithmetic/train.jsonl') },
      ...{ evalEvery: 0, infrequentEvalEvery: 4 },
      infrequentEvaluators: [{ type: 'inspect', tasks: [task], maxTokens: 8 }],
    }),
  );
  await everstepJson(['train', file, '--run', run, ...placeFlags(place), '--json']);
  const text = await readFile(path.join(place.folder, 'state/store/runs', run, 'scores.jsonl'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => ScoreRow.parse(JSON.parse(line)));
}

async function exportsLogs(place: Workplace): Promise<string> {
  const { dir, benchmarks } = Report.parse(await everstepJson(evalWords(place, 'alone', 20)));
  const [result] = benchmarks;
  if (result?.numExamples !== 20 || result.numErrors !== 0) throw new Error(JSON.stringify(result));
  const logs = path.join(place.folder, 'logs');
  await everstepJson(['export', 'inspect', dir, '--output', logs, '--json']);
  const { code, stdout, stderr } = await runProgram([place.python, READER, logs]);
  if (code !== 0) throw new Error(stderr);
  const read = ReadLog.parse(JSON.parse(stdout));
  const mean = read.values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / read.values.length;
  const isSame =
    [read.metrics['accuracy'], mean].every((value) => Math.abs((value ?? NaN) - result.score) < 1e-9) &&
    read.status === 'success' &&
    read.complete &&
    read.told &&
    read.summaries === 20;
  if (!isSame) throw new Error(`${stdout} instead of ${JSON.stringify(result)}`);
  return `score ${result.score} in both`;
}

async function evaluatesEveryKind(place: Workplace): Promise<string> {
  const judge = '{model: openai-api/everstep/everstep/tiny, max_tokens: 3}';
  const tasks = ['parts', `judged?model-role=grader=${judge}`, 'sums?count=3', 'sums?count=5'];
  const names = tasks.map((task) => `inspect:${TASKS}@${task}`);
  const { benchmarks } = Report.parse(await everstepJson(wordsOf(place, 'kinds', names)));
  const scoreOf = (wanted: string) => benchmarks.find(({ name }) => name === wanted)?.score;
  const sums = benchmarks.filter(({ name }) => name.startsWith('inspect_sums'));
  const isRight =
    benchmarks.every(({ numErrors }) => numErrors === 0) &&
    scoreOf('inspect_parts') === 0.75 &&
    scoreOf('inspect_judged') === 1 &&
    new Set(sums.map(({ name }) => name)).size === 2 &&
    sums.reduce((count, { numExamples }) => count + numExamples, 0) === 8;
  if (!isRight) throw new Error(JSON.stringify(benchmarks));
  return `${benchmarks.length} results`;
}

async function asksAnew(place: Workplace): Promise<string> {
  const file = path.join(place.folder, 'asked.py');
  const code = await readFile(TASKS, 'utf8');
  await writeFile(file, code);
  const words = (task: string, run?: string) => wordsOf(place, run, [`inspect:${file}@${task}`]);
  const refused = async (task: string, run: string, said: string) => {
    const { code: exit, stderr } = await runProgram([process.execPath, PROGRAM, ...words(task, run)]);
    if (exit === 0 || !stderr.includes(said)) throw new Error(`${task} ended with ${exit}: ${stderr}`);
    return exit;
  };
  const twice = [...words('sums?count=2', 'asked'), '--samples', '2'];
  const { benchmarks } = Report.parse(await everstepJson(twice));
  const [result] = benchmarks;
  if (result?.numExamples !== 4 || result.passAtK['2'] === undefined)
    throw new Error(JSON.stringify(benchmarks));
  await refused('sums?count=3', 'asked', 'count 2, and 3 is asked for');
  await refused('sums?cuont=3', 'misspelt', 'has no argument cuont. Did you mean count?');
  const exit = await refused('sums', 'misspelt', 'is asked for').catch(() => null);
  if (exit !== null) throw new Error('what was refused was begun');
  const before = Report.parse(await everstepJson(words('sums?count=2')));
  const same = Report.parse(await everstepJson(words('sums?count=2')));
  await writeFile(file, code.replace('{left}+5=', '{left} + 5 ='));
  const after = Report.parse(await everstepJson(words('sums?count=2')));
  if (before.dir !== same.dir || before.dir === after.dir) throw new Error(`${before.dir}, ${after.dir}`);
  await rm(file);
  await refused('sums?count=2', 'gone', `there is no file ${file}`);
  return 'each has a result of its own, or is refused';
}

/** The same weights, questions and seeds twice: once in peace, once with a worker that is killed. */
async function survivesKill(place: Workplace): Promise<string> {
  const peaceful = await sampledBy(place, () => everstepJson(evalWords(place, 'peace', COUNT)));
  const killed = await sampledBy(place, async () => {
    const report = everstepJson(evalWords(place, 'killed', COUNT));
    report.catch(() => undefined);
    const folder = path.join(place.folder, 'state/store/evals/killed/inspect_sums/journal');
    await until(
      async () => (await answersIn(folder)) > COUNT / 8,
      () => 'nothing was answered',
    );
    const inspects = await processesWith('run_inspect.py', folder);
    for (const pid of new Set(await Promise.all(inspects.map(parentOf)))) process.kill(pid, 'SIGKILL');
    await until(
      async () => (await Promise.all(inspects.map(isThere))).every((there) => !there),
      () => 'Inspect outlived its worker',
    );
    return report;
  });
  const [one, other] = [peaceful.answer, killed.answer].map((answer) => Report.parse(answer).benchmarks[0]);
  if (one?.score !== other?.score || other?.numExamples !== COUNT)
    throw new Error(`in peace ${JSON.stringify(one)}, killed ${JSON.stringify(other)}`);
  // What was in flight when the worker died is drawn again.
  const inFlight = killed.tokens - peaceful.tokens;
  if (inFlight < 0 || inFlight > peaceful.tokens / 2)
    throw new Error(`${killed.tokens} tokens sampled instead of ${peaceful.tokens}`);
  return `${peaceful.tokens} tokens in peace, ${killed.tokens} with a kill`;
}

async function answersIn(folder: string): Promise<number> {
  const file = path.join(folder, 'calls.jsonl');
  return existsSync(file) ? (await readFile(file, 'utf8')).split('\n').length - 1 : 0;
}

async function processesWith(program: string, argument: string): Promise<number[]> {
  const root = path.dirname(argument);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return pids
    .filter((_, index) => lines[index]?.includes(program) && lines[index].includes(root))
    .map(Number);
}

async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

async function isThere(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z');
  return !/\) [ZX]/.test(stat);
}

function evalWords(place: Workplace, run: string, count: number): string[] {
  return wordsOf(place, run, [`inspect:${TASKS}@sums?count=${count}`]);
}

function wordsOf(place: Workplace, run: string | undefined, tasks: readonly string[]): string[] {
  return [
    ...['eval', ...tasks, '--engine', place.engineUrl, '--model', 'everstep/tiny'],
    ...['--max-tokens', '8', '--concurrency', '8', ...(run === undefined ? [] : ['--run', run])],
    ...[...placeFlags(place), '--json'],
  ];
}
