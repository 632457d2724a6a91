/**
 * From the command to the first step: `everstep train --detach` on a running stack, until its first row is in
 * metrics.jsonl.
 *
 *     npx jiti bench/first-step.ts [--repeats 3]
 *
 * The stack is the one of `everstep dev` with its real engine; dist/ has to be built already.
 */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createRunStore } from '../src/stores/run-store';
import { firstLine, startProgram, stopChild } from './services';
import { median } from './work-items';

const WITHOUT_EVALUATIONS = ['--set', 'evalEvery=0', '--set', 'infrequentEvalEvery=0'];
const CONFIG = path.join(__dirname, '..', 'configs', 'sft-arithmetic.yaml');
const POLL_MS = 5;
const LIMIT_MS = 60_000;

interface Times {
  readonly commandMs: number;
  readonly firstRowMs: number;
}

/** One run of one step, waited for until it ends, so that the next has the stack to itself. */
async function measure(folder: string, run: string, more: readonly string[]): Promise<Times> {
  const runFolder = path.join(folder, 'store', 'runs', run);
  const startedAt = performance.now();
  const deadline = startedAt + LIMIT_MS;
  const command = startProgram([
    ...['train', CONFIG, '--run', run, '--detach', '--data-dir', folder, '--set', 'steps=1'],
    ...more,
  ]);
  const done = new Promise<number>((resolve) => {
    command.once('exit', () => {
      resolve(performance.now());
    });
  });
  await until(() => hasRow(path.join(runFolder, 'metrics.jsonl')), deadline);
  const firstRowMs = performance.now() - startedAt;
  const store = createRunStore(path.join(folder, 'store'));
  await until(async () => (await store.readState(run))?.status === 'completed', deadline);
  return { firstRowMs, commandMs: (await done) - startedAt };
}

function hasRow(file: string): boolean {
  return existsSync(file) && statSync(file).size > 0;
}

async function until(isReached: () => boolean | Promise<boolean>, deadline: number): Promise<void> {
  while (!(await isReached())) {
    if (performance.now() > deadline) throw new Error('The run did not get on in time.');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function measureAll(folder: string, repeats: number): Promise<void> {
  await measure(folder, 'warm-up', WITHOUT_EVALUATIONS);
  for (const [name, more] of [
    ['without evaluations', WITHOUT_EVALUATIONS],
    ['as shipped, evaluated before the first step', []],
  ] as const) {
    const times: Times[] = [];
    for (let index = 0; index < repeats; index++) {
      times.push(await measure(folder, `${name.split(' ').join('-').replace(',', '')}-${index}`, more));
    }
    console.log(`${name}
  command to first row   ${seconds(times.map(({ firstRowMs }) => firstRowMs))}
  command to its return  ${seconds(times.map(({ commandMs }) => commandMs))}`);
  }
}

function seconds(milliseconds: readonly number[]): string {
  const each = milliseconds.map((one) => (one / 1000).toFixed(2)).join(', ');
  return `${(median(milliseconds) / 1000).toFixed(2)} s (${each})`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { repeats: { type: 'string', default: '3' } } });
  const folder = mkdtempSync(path.join(tmpdir(), 'everstep-bench-'));
  const stack = startProgram(['dev', '--headless', '--data-dir', folder, '--exit-with-parent']);
  try {
    await firstLine(stack, 'Ready.');
    await measureAll(folder, Number(values.repeats));
  } finally {
    await stopChild(stack);
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
