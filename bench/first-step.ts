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
import { firstLine, startProgram, stopChild } from './services';
import { median } from './work-items';

const CONFIG = path.join(__dirname, '..', 'configs', 'sft-arithmetic.yaml');
const POLL_MS = 5;
const LIMIT_MS = 60_000;

interface Times {
  readonly commandMs: number;
  readonly firstRowMs: number;
}

async function measure(folder: string, run: string): Promise<Times> {
  const metrics = path.join(folder, 'store', 'runs', run, 'metrics.jsonl');
  const startedAt = performance.now();
  const command = startProgram(['train', CONFIG, '--run', run, '--detach', '--data-dir', folder]);
  const done = new Promise<number>((resolve) =>
    command.once('exit', () => {
      resolve(performance.now());
    }),
  );
  await untilRow(metrics, startedAt + LIMIT_MS);
  const firstRowMs = performance.now() - startedAt;
  return { firstRowMs, commandMs: (await done) - startedAt };
}

async function untilRow(file: string, deadline: number): Promise<void> {
  while (!existsSync(file) || statSync(file).size === 0) {
    if (performance.now() > deadline) throw new Error(`No row in ${file} in time.`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { repeats: { type: 'string', default: '3' } } });
  const folder = mkdtempSync(path.join(tmpdir(), 'everstep-bench-'));
  const stack = startProgram(['dev', '--headless', '--data-dir', folder, '--exit-with-parent']);
  try {
    await firstLine(stack, 'Ready.');
    const times: Times[] = [];
    for (let index = 0; index < Number(values.repeats); index++) {
      times.push(await measure(folder, `first-step-${index}`));
    }
    const seconds = (of: (one: Times) => number): string =>
      `${(median(times.map(of)) / 1000).toFixed(2)} s (${times.map((one) => (of(one) / 1000).toFixed(2)).join(', ')})`;
    console.log(`command to first row   ${seconds(({ firstRowMs }) => firstRowMs)}`);
    console.log(`command to its return  ${seconds(({ commandMs }) => commandMs)}`);
  } finally {
    await stopChild(stack);
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
