/**
 * tinker-cookbook from PyPI, both ways: its supervised loop against our engine, its config turned into one of ours,
 * the run of that config, and its readers on our run's folder.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { loadTrainingConfig } from '../../src/config/load-config';
import { cleanEnvironment, PROGRAM, ROOT, runProgram } from './processes';
import type { ClientResult } from './results';
import { tryCheck } from './results';
import type { ScriptRun } from './sdk-suite';
import { runScript } from './sdk-suite';

/** All rows are one batch, so that the order of rows, which the two programs draw differently, does not matter. */
const ROW_COUNT = 32;
const RUN = 'from-cookbook';
/** Both add the same gradients in another order, and so do their steps drift apart in the last digits. */
const LARGEST_DIFFERENCE = 1e-4;
const TRAIN_TIMEOUT_MS = 5 * 60_000;

type Suite = Omit<ScriptRun, 'script' | 'args'>;

export async function runCookbook(suite: Suite): Promise<ClientResult> {
  const client = suite.environment.name;
  const data = await prepareFolder(suite.folder);
  const theirs = path.join(suite.folder, 'cookbook');
  const checks = await runScript({ ...suite, script: 'cookbook_train.py', args: [theirs, data] });
  const steps = [
    ['import cookbook: its config becomes a run of ours', () => importConfig(suite, theirs)],
    ['import cookbook: the run trains as the cookbook did', () => compareCurves(suite, theirs)],
  ] as const;
  for (const [name, body] of steps) {
    const result = await tryCheck(name, body);
    checks.push(result);
    suite.onCheck(result);
  }
  const folder = runFolder(suite);
  if (existsSync(folder))
    checks.push(...(await runScript({ ...suite, script: 'cookbook_read.py', args: [folder] })));
  const exported = await tryCheck('export cookbook: an eval run and a store', () => exportResults(suite));
  suite.onCheck(exported);
  const outputs = [exportFolder(suite, 'run'), exportFolder(suite, 'store')];
  if (exported.status === 'passed')
    checks.push(...(await runScript({ ...suite, script: 'cookbook_results.py', args: outputs })));
  return { client, checks: [...checks, exported] };
}

/** The cookbook loads a tokenizer by the model's name; a folder of that name, relative to where it runs, will do. */
async function prepareFolder(folder: string): Promise<string> {
  await mkdir(path.join(folder, 'everstep'), { recursive: true });
  await symlink(path.join(ROOT, 'models/everstep-tiny'), path.join(folder, 'everstep/tiny'));
  const shipped = await readFile(path.join(ROOT, 'data/arithmetic/train.jsonl'), 'utf8');
  const file = path.join(folder, 'conversations.jsonl');
  await writeFile(file, `${shipped.split('\n').slice(0, ROW_COUNT).join('\n')}\n`);
  return file;
}

async function importConfig(suite: Suite, theirs: string): Promise<null> {
  const output = yamlFile(suite);
  const written = path.join(theirs, 'loop/config.json');
  await succeed(suite, ['import', 'cookbook', written, '--output', output]);
  const config = await loadTrainingConfig({ file: output });
  const expected = {
    model: 'everstep/tiny',
    renderer: 'role_colon',
    epochs: 8,
    batchSize: ROW_COUNT,
    learningRate: 0.003,
    loraRank: 4,
    saveEvery: 3,
    maxLength: 128,
  };
  for (const [key, value] of Object.entries(expected)) {
    const found: unknown = Reflect.get(config, key);
    if (found !== value)
      throw new Error(`${key} is ${JSON.stringify(found)}, expected ${JSON.stringify(value)}`);
  }
  return null;
}

/** Two eval runs of the base model, exported one by itself and both as a store. */
async function exportResults(suite: Suite): Promise<null> {
  const state = ['--data-dir', path.join(suite.folder, 'state')];
  const model = ['--engine', suite.engineUrl, '--model', 'everstep/tiny', '--max-tokens', '8'];
  for (const [run, count] of [
    ['first', '12'],
    ['second', '20'],
  ] as const) {
    const words = ['eval', 'arithmetic', '--run', run, '--max-examples', count, '--samples', '2'];
    await succeed(suite, [...words, ...model, ...state]);
  }
  await succeed(suite, ['export', 'cookbook', 'first', '--output', exportFolder(suite, 'run'), ...state]);
  const store = path.join(suite.folder, 'state/store');
  await succeed(suite, ['export', 'cookbook', store, '--output', exportFolder(suite, 'store'), ...state]);
  return null;
}

function exportFolder({ folder }: Suite, name: string): string {
  return path.join(folder, `exported-${name}`);
}

async function compareCurves(suite: Suite, theirs: string): Promise<string> {
  const places = ['--data-dir', path.join(suite.folder, 'state')];
  await succeed(suite, ['train', yamlFile(suite), '--run', RUN, '--engine', suite.engineUrl, ...places]);
  const cookbook = await readColumn(path.join(theirs, 'loop/metrics.jsonl'), 'train_mean_nll');
  const ours = await readColumn(path.join(runFolder(suite), 'metrics.jsonl'), 'train/nll');
  if (ours.length !== cookbook.length)
    throw new Error(`${ours.length} steps here, ${cookbook.length} in the cookbook`);
  const worst = Math.max(...ours.map((value, index) => Math.abs(value - (cookbook[index] ?? Number.NaN))));
  if (worst <= LARGEST_DIFFERENCE) return `largest difference of a step's loss ${worst.toExponential(1)}`;
  throw new Error(`the losses differ by up to ${worst}: ${ours.join(' ')} here, ${cookbook.join(' ')} there`);
}

async function readColumn(file: string, key: string): Promise<number[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  return lines
    .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line))[key])
    .filter((value) => value !== undefined)
    .map((value) => z.number().parse(value));
}

async function succeed(suite: Suite, args: readonly string[]): Promise<void> {
  const { code, stderr } = await runProgram([process.execPath, PROGRAM, ...args], {
    folder: suite.folder,
    environment: cleanEnvironment({ TINKER_API_KEY: 'tml-local' }),
    timeoutMs: TRAIN_TIMEOUT_MS,
  });
  if (code !== 0) throw new Error(`everstep ${args.join(' ')}: exit ${String(code)}: ${stderr.slice(-600)}`);
}

function yamlFile({ folder }: Suite): string {
  return path.join(folder, 'imported.yaml');
}

function runFolder({ folder }: Suite): string {
  return path.join(folder, 'state/store/runs', RUN);
}
