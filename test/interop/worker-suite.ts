/**
 * Everstep with Python of one's own: the worker of examples/python-worker on a stack of its own judges a benchmark, reads
 * a dataset and evaluates a run; killed midway, it costs no completion.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { findStack } from '../../src/stack/stack-record';
import type { Site } from './engine-suite';
import { openExample } from './environments';
import { cleanEnvironment, PROGRAM, ROOT, runProgram, startProgram, stopChild } from './processes';
import type { CheckResult, ClientResult } from './results';
import { failed, skipped, tryInTurn } from './results';

const EXAMPLE = path.join(ROOT, 'examples/python-worker');
const COUNT = 120;
const COMMAND_TIMEOUT_MS = 3 * 60_000;
const WAIT_MS = 60_000;
/** The stack's start has built what there is to build. */
const BUILT = { EVERSTEP_NO_BUILD: '1' };

export interface Workplace {
  readonly folder: string;
  readonly python: string;
  readonly address: string;
  readonly engineUrl: string;
}

const Report = z.object({
  dir: z.string(),
  benchmarks: z.array(z.object({ score: z.number(), numExamples: z.number(), numErrors: z.number() })),
});

export async function checkPythonWorker(site: Site): Promise<ClientResult> {
  const client = 'python worker';
  const environment = await openExample(path.join(EXAMPLE, 'requirements.txt'), (what) => {
    site.onProgress(`Installing ${what} from PyPI (first use)…`);
  }).catch((error: unknown) => String(error).slice(0, 800));
  if (typeof environment === 'string') {
    const check = (site.allowSkip ? skipped : failed)('environment', environment);
    site.onCheck(check);
    return { client, checks: [check] };
  }
  const folder = path.join(site.folder, 'python-worker');
  await mkdir(folder, { recursive: true });
  site.onProgress(`${environment.name}:`);
  const words = ['dev', '--headless', '--data-dir', path.join(folder, 'state')];
  const stack = await startProgram([process.execPath, PROGRAM, ...words], 'Ctrl-C');
  try {
    const record = findStack(path.join(folder, 'state'));
    if (!record) throw new Error('The stack left no record.');
    const place = { folder, python: environment.python, address: record.temporalAddress };
    return {
      client: environment.name,
      checks: await runChecks(site, { ...place, engineUrl: record.engineUrl }),
    };
  } finally {
    await stopChild(stack);
  }
}

function runChecks(site: Site, place: Workplace): Promise<CheckResult[]> {
  return tryInTurn(site, [
    ['without a worker, eval says what it waits for', () => saysWhatItWaitsFor(place)],
    ['a benchmark is judged in Python', () => judgesBenchmark(place)],
    ['a run with dataset, grader and evaluator in Python', () => trains(place)],
    ['a worker killed midway costs no completion', () => survivesKill(place)],
  ]);
}

/** The evaluation of the next check: it is interrupted here, and goes on when the worker is there. */
async function saysWhatItWaitsFor(place: Workplace): Promise<string> {
  const words = evalWords(place, 'additions', path.join(EXAMPLE, 'everstep.config.ts'));
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: cleanEnvironment(BUILT),
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  try {
    await until(
      () => said.includes('No Python worker polls everstep-python'),
      () => `it said: ${said.slice(-300)}`,
    );
  } finally {
    await stopChild(child);
  }
  return 'No Python worker polls everstep-python';
}

async function judgesBenchmark(place: Workplace): Promise<string> {
  const worker = await startWorker(place, [path.join(EXAMPLE, 'worker.py')]);
  try {
    const plugins = path.join(EXAMPLE, 'everstep.config.ts');
    const { benchmarks } = Report.parse(await everstepJson(evalWords(place, 'additions', plugins)));
    const [result] = benchmarks;
    if (result?.numExamples !== 100 || result.numErrors !== 0) throw new Error(JSON.stringify(result));
    return `score ${result.score}`;
  } finally {
    await stopChild(worker);
  }
}

async function trains(place: Workplace): Promise<string> {
  const worker = await startWorker(place, [path.join(EXAMPLE, 'worker.py')]);
  try {
    await everstepJson([
      'train',
      path.join(EXAMPLE, 'train.yaml'),
      '--run',
      'polyglot',
      ...placeFlags(place),
      '--json',
    ]);
    const file = path.join(place.folder, 'state/store/runs/polyglot/scores.jsonl');
    const rows = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => Score.parse(JSON.parse(line)));
    const found = [...new Set(rows.map(({ step, key }) => `${step} ${key}`))].sort();
    const keys = ['test/confidence/mean_logprob', 'test/confidence/tokens', 'test/judged/accuracy'];
    const expected = [0, 3, 6].flatMap((step) => keys.map((key) => `${step} ${key}`));
    if (found.join() !== expected.join()) throw new Error(`scores: ${found.join(', ')}`);
    return `${rows.length} scores`;
  } finally {
    await stopChild(worker);
  }
}

const Score = z.object({ step: z.number(), key: z.string(), value: z.number() });

/** The same weights, questions and seeds twice: once in peace, once with a worker that is killed. */
async function survivesKill(place: Workplace): Promise<string> {
  const plugins = await writePlugins(place.folder);
  const notes = path.join(place.folder, 'judged.txt');
  const script = [path.join(__dirname, 'python/worker_that_notes.py'), EXAMPLE, notes];
  const workers = [await startWorker(place, script)];
  try {
    const peaceful = await sampledBy(place, () => everstepJson(evalWords(place, 'peace', plugins, 'slow')));
    // What is cut at the token limit reaches no grader.
    const expected = await linesOf(notes);
    await writeFile(notes, '');
    const killed = await sampledBy(place, async () => {
      const report = everstepJson(evalWords(place, 'killed', plugins, 'slow'));
      await until(
        async () => (await linesOf(notes)).length > COUNT / 4,
        () => 'nothing was judged',
      );
      workers[0]?.kill('SIGKILL');
      workers.push(await startWorker(place, script));
      return report;
    });
    const [one, other] = [peaceful.answer, killed.answer].map((answer) => Report.parse(answer).benchmarks[0]);
    const judged = await linesOf(notes);
    if (one?.score !== other?.score || other?.numErrors !== 0 || other.numExamples !== COUNT)
      throw new Error(`in peace ${JSON.stringify(one)}, killed ${JSON.stringify(other)}`);
    if (killed.tokens !== peaceful.tokens)
      throw new Error(`${killed.tokens} tokens sampled instead of ${peaceful.tokens}`);
    if (new Set(judged).size !== expected.length)
      throw new Error(`${new Set(judged).size} of ${expected.length} judged`);
    return `${killed.tokens} tokens sampled both times; ${judged.length - expected.length} of ${expected.length} judged again`;
  } finally {
    for (const worker of workers) await stopChild(worker);
  }
}

async function writePlugins(folder: string): Promise<string> {
  const file = path.join(folder, 'slow.config.js');
  const source = `module.exports = { benchmarks: { slow: {
    data: { rows: () => Array.from({ length: ${COUNT} }, (_, left) => ({ left })) },
    toExample: ({ left }) => ({ prompt: left + '+5=', target: String(left + 5) }),
    grader: { python: 'slow' },
    generation: { maxTokens: 8, temperature: 1 },
  } } };`;
  await writeFile(file, source);
  return file;
}

export async function sampledBy(
  { engineUrl }: Workplace,
  run: () => Promise<unknown>,
): Promise<{ readonly answer: unknown; readonly tokens: number }> {
  const count = async () => {
    const text = await (await fetch(`${engineUrl}/metrics`)).text();
    return Number(/everstep_engine_tokens_sampled_total (\d+)/.exec(text)?.[1]);
  };
  const before = await count();
  const answer = await run();
  return { answer, tokens: (await count()) - before };
}

function evalWords(place: Workplace, run: string, plugins: string, benchmark = 'additions'): string[] {
  const model = ['--engine', place.engineUrl, '--model', 'everstep/tiny'];
  return ['eval', benchmark, '--plugins', plugins, ...model, '--run', run, ...placeFlags(place), '--json'];
}

export function placeFlags({ folder }: Workplace): string[] {
  return ['--data-dir', path.join(folder, 'state')];
}

export async function everstepJson(words: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runProgram([process.execPath, PROGRAM, ...words], {
    environment: cleanEnvironment(BUILT),
    timeoutMs: COMMAND_TIMEOUT_MS,
  });
  if (code === 0) return JSON.parse(stdout);
  throw new Error(`everstep ${words.join(' ')}: exit ${String(code)}: ${stderr.slice(-600)}`);
}

export function startWorker(
  { python, address, engineUrl }: Workplace,
  words: readonly string[],
): Promise<ChildProcess> {
  return startProgram([python, ...words], 'Python worker ready', {
    TEMPORAL_ADDRESS: address,
    TINKER_API_KEY: 'tml-local',
    TINKER_BASE_URL: engineUrl,
    PYTHONDONTWRITEBYTECODE: '1',
  });
}

async function linesOf(file: string): Promise<string[]> {
  return existsSync(file) ? (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '') : [];
}

export async function until(isSo: () => boolean | Promise<boolean>, why: () => string): Promise<void> {
  const end = Date.now() + WAIT_MS;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`waited in vain; ${why()}`);
    await delay(100);
  }
}
