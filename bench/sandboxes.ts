/**
 * What a HumanEval-like solution takes in each sandbox that works here: one after another, and sixteen at once.
 *
 *     npm run bench:sandboxes -- [--runs 30] [--kinds bubblewrap,pyodide]
 *
 * `run` is writing the program and running it with its tests in an open sandbox. The rates are of a pool, with what it takes to
 * make a place ready for the next program.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { sandboxKinds } from '../src/sandboxes/choose-kind';
import { Leases } from '../src/sandboxes/leases/leases';
import type { Sandbox, SandboxKind } from '../src/sandboxes/sandbox';
import { SandboxPool } from '../src/sandboxes/sandbox-pool';
import { quantile } from './work-items';

const AT_ONCE = 16;
const ROUNDS = 12;
/** Uses of each place before it counts: what runs often is compiled better meanwhile. */
const WARM_UP_USES = 16;
const PROGRAM = `
from typing import List

def close_pairs(numbers: List[float], threshold: float) -> bool:
    ordered = sorted(numbers)
    return any(right - left < threshold for left, right in zip(ordered, ordered[1:]))

def check(candidate):
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) is True
    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.05) is False
    assert candidate([1.0, 2.0, 5.9, 4.0, 5.0], 0.95) is True

check(close_pairs)
print("passed")
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { runs: { type: 'string', default: '30' }, kinds: { type: 'string', default: '' } },
  });
  const leases = new Leases();
  const wanted = values.kinds === '' ? null : values.kinds.split(',');
  for (const kind of sandboxKinds(leases)) {
    if (wanted !== null && !wanted.includes(kind.name)) continue;
    const answer = await kind.availability();
    if (answer.isAvailable) await measure(kind, leases, Number(values.runs));
    else console.log(`${kind.name}: ${answer.reason}`);
  }
  console.log(
    `${availableParallelism()} processors, Node ${process.version}, uid ${process.getuid?.() ?? '?'}`,
  );
}

async function measure(kind: SandboxKind, leases: Leases, runs: number): Promise<void> {
  const inside: number[] = [];
  const whole = await timesOf(runs, async () => {
    const sandbox = await kind.open();
    inside.push(await timeOf(() => runOnce(sandbox)));
    await sandbox.close();
  });
  console.log(`${kind.name}: run ${describe(inside)}; opened and closed ${describe(whole)}`);
  const alone = await ratePerSecond(kind, leases, 1);
  const together = await ratePerSecond(kind, leases, availableParallelism());
  console.log(
    `${kind.name}: ${AT_ONCE} asked at once: one after another ${alone.toFixed(1)} a second, ${availableParallelism()} in use ${together.toFixed(1)} a second, ${(together / alone).toFixed(2)} times as many`,
  );
}

/** The best of some rounds: what else the machine does only takes away. */
async function ratePerSecond(kind: SandboxKind, leases: Leases, size: number): Promise<number> {
  const pool = new SandboxPool({ kind, leases, size });
  await Promise.all(Array.from({ length: size * WARM_UP_USES }, () => pool.use(runOnce)));
  const rounds = await timesOf(ROUNDS, () =>
    Promise.all(Array.from({ length: AT_ONCE }, () => pool.use(runOnce))),
  );
  await pool.close();
  return (AT_ONCE * 1000) / Math.min(...rounds);
}

async function runOnce(sandbox: Sandbox): Promise<void> {
  await sandbox.writeFile('program.py', PROGRAM);
  const { stdout, stderr } = await sandbox.exec(['python3', '-I', '-S', '-B', 'program.py']);
  if (stdout !== 'passed\n') throw new Error(`The program failed: ${stderr}`);
}

async function timesOf(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) times.push(await timeOf(work));
  return times;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function describe(times: readonly number[]): string {
  const at = (part: number) =>
    quantile(
      [...times].sort((a, b) => a - b),
      part,
    ).toFixed(0);
  return `median ${at(0.5)} ms (p90 ${at(0.9)}, least ${at(0)})`;
}

void main();
