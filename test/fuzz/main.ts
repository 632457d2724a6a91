/**
 * Gives every parser of foreign bytes inputs drawn from a seed, and says which it does not take as it should: with an error that is
 * none of the project's own, in more than two seconds, or with more than 256 MiB.
 *
 *     npm run fuzz -- [--target NAME]… [--seed N] [--runs N | --seconds N] [--keep]
 *
 * The same seed gives the same inputs. `--runs` and `--seconds` are of each target. `--keep` writes inputs that show a fault, made
 * shorter, to test/fuzz/corpus, from where `npm test` takes them. Ends with 1 where it found something.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { keepInput } from './corpus';
import type { FuzzMessage, FuzzOrder } from './fuzz-target';
import { inputOf } from './fuzz-target';
import { loadTarget, requireTarget, TARGET_NAMES } from './targets';

const OPTIONS = {
  target: { type: 'string', multiple: true },
  seed: { type: 'string', default: '1' },
  runs: { type: 'string' },
  seconds: { type: 'string' },
  keep: { type: 'boolean', default: false },
} as const;
const USAGE = 'npm run fuzz -- [--target NAME]… [--seed N] [--runs N | --seconds N] [--keep]';

const DEFAULT_RUNS = 2000;
/** An input that takes this long does not end. */
const HUNG_MS = 60_000;
const LOOK_MS = 500;
const HEAP_MIB = 1024;

type Told = Extract<FuzzMessage, { readonly type: 'finding' }>;

interface Outcome {
  /** Inputs that were run. */
  readonly runs: number;
  readonly findings: readonly Told[];
}

async function main(): Promise<number> {
  const { target, seed, runs, seconds, keep } = parseArgs({ options: OPTIONS }).values;
  const names = (target ?? TARGET_NAMES).map(requireTarget);
  const limits = {
    seed: wholeNumber('seed', seed),
    runs:
      runs === undefined
        ? seconds === undefined
          ? DEFAULT_RUNS
          : Number.MAX_SAFE_INTEGER
        : wholeNumber('runs', runs),
    milliseconds: seconds === undefined ? Number.MAX_SAFE_INTEGER : 1000 * wholeNumber('seconds', seconds),
  };
  let findingCount = 0;
  for (const name of names) {
    const { runs: count, findings } = await fuzz({ target: name, ...limits });
    console.log(`${name.padEnd(18)} ${String(count).padStart(8)} inputs, ${findings.length} findings`);
    for (const found of findings) console.log(textOf(name, found, keep));
    findingCount += findings.length;
  }
  return findingCount === 0 ? 0 : 1;
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Error(`--${name} is "${text}"; it is a whole number.`);
}

function textOf(target: string, { index, finding, bytes }: Told, keep: boolean): string {
  const shown = JSON.stringify(Buffer.from(bytes).toString('latin1')).slice(0, 300);
  const kept = keep ? `\n    kept: ${path.relative(process.cwd(), keepInput(target, bytes))}` : '';
  return `  input ${index} ${finding.what}: ${finding.text.split('\n').slice(0, 4).join('\n    ')}\n    ${shown}${kept}`;
}

type Order = Omit<FuzzOrder, 'begin' | 'progress'>;

/** One thread after another, where one hangs or takes all memory from behind what it stumbled over. */
async function fuzz(order: Order): Promise<Outcome> {
  const findings: Told[] = [];
  const until = performance.now() + order.milliseconds;
  let begin = 0;
  while (begin < order.runs && performance.now() < until) {
    const part = { ...order, begin, milliseconds: until - performance.now() };
    const { next, found, ending } = await runThread(part);
    findings.push(...found);
    begin = next;
    if (ending === null) break;
    const index = next - 1;
    const bytes = inputOf(await loadTarget(order.target), order.seed, index);
    findings.push({ type: 'finding', index, finding: ending, bytes });
  }
  return { runs: begin, findings };
}

interface ThreadEnd {
  readonly next: number;
  readonly found: readonly Told[];
  /** Why it did not come to its end. */
  readonly ending: Told['finding'] | null;
}

function runThread(order: Omit<FuzzOrder, 'progress'>): Promise<ThreadEnd> {
  const progress = new SharedArrayBuffer(8);
  const numbers = new Int32Array(progress);
  const worker = new Worker(path.join(__dirname, 'worker.js'), {
    workerData: { ...order, progress } satisfies FuzzOrder,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  const found: Told[] = [];
  return new Promise((resolve) => {
    let [seen, since, isReady] = [-1, performance.now(), false];
    const settle = (ending: ThreadEnd['ending'], next: number) => {
      clearInterval(looking);
      void worker.terminate().then(() => {
        resolve({ next, found, ending });
      });
    };
    const looking = setInterval(() => {
      const index = Atomics.load(numbers, 0);
      if (!isReady || index !== seen || Atomics.load(numbers, 1) === 1)
        [seen, since] = [index, performance.now()];
      else if (performance.now() - since > HUNG_MS)
        settle({ what: 'hung', text: `${HUNG_MS} ms` }, index + 1);
    }, LOOK_MS);
    worker.on('message', (message: FuzzMessage) => {
      if (message.type === 'ready') isReady = true;
      else if (message.type === 'finding') found.push(message);
      else settle(null, message.next);
    });
    worker.on('error', (error: Error) => {
      const isMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const text = error.stack ?? error.message;
      settle(
        { what: isMemory ? 'memory' : 'threw', text: isReady ? text : `the target did not start: ${text}` },
        Atomics.load(numbers, 0) + 1,
      );
    });
  });
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(`${error instanceof Error ? error.message : String(error)}\nUsage: ${USAGE}`);
    process.exitCode = 2;
  },
);
