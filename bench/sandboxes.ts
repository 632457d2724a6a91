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
/** A prompt with its docstring, a solution and tests, in the form in which `humaneval` runs them. */
const PROGRAM = `
from typing import List, Tuple


def longest_valley(heights: List[int]) -> Tuple[int, int]:
    """ Find the longest run of positions in which heights first fall strictly and then rise strictly.
    Return its first and last position, the first such run where several are as long, and (-1, -1) where there is none.
    >>> longest_valley([5, 3, 1, 2, 6, 6])
    (0, 4)
    >>> longest_valley([1, 2, 3])
    (-1, -1)
    >>> longest_valley([9, 4, 7, 3, 5, 8])
    (2, 5)
    """
    best = (-1, -1)
    position = 0
    while position + 1 < len(heights):
        start = position
        while position + 1 < len(heights) and heights[position + 1] < heights[position]:
            position += 1
        bottom = position
        while position + 1 < len(heights) and heights[position + 1] > heights[position]:
            position += 1
        is_valley = start < bottom < position
        if is_valley and position - start > best[1] - best[0]:
            best = (start, position)
        if position == start:
            position += 1
    return best


METADATA = {"author": "bench", "dataset": "test"}


def check(candidate):
    assert candidate([5, 3, 1, 2, 6, 6]) == (0, 4)
    assert candidate([1, 2, 3]) == (-1, -1)
    assert candidate([9, 4, 7, 3, 5, 8]) == (2, 5)
    assert candidate([]) == (-1, -1)
    assert candidate([4]) == (-1, -1)
    assert candidate([2, 1, 2, 1, 2]) == (0, 2)
    assert candidate([3, 3, 3, 3]) == (-1, -1)
    assert candidate(list(range(100, 0, -1)) + list(range(2, 50))) == (0, 147), "a long one"
    assert candidate([0, -5, -9, -3, -4, -5, -6, 7]) == (3, 7)


check(longest_valley)
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
