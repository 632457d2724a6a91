/**
 * Everstep with the programs of others, and which of them go together.
 *
 *     npm run interop [-- --only sdk,cookbook,recipes,python,environments,inspect,skyrl] [--skyrl operations,survival,clients] [--client 0.25.0]
 *                     [--draw TEXT] [--check TEXT] [--checkout FOLDER] [--allow-skip] [--json]
 *
 * Python environments are installed from PyPI on first use (about 9 GB, most of it PyTorch) and kept in the cache folder.
 * `--draw` runs the official client, Python workers and one further suite, which the text decides: a revision's name draws the same again.
 * Exit 1 when a check of ours fails or a part cannot be set up; with `--allow-skip` the latter is skipped. 0 where
 * there is no Python to run them with, which is said.
 */
import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Site } from './engine-suite';
import { checkCookbook, checkRecipes, checkSdks, OUR_ENGINE } from './engine-suite';
import { checkPythonEnvironments } from './environment-suite';
import { findPython } from './environments';
import { checkInspect } from './inspect-suite';
import type { CheckResult, ClientResult, ServerResult } from './results';
import { isPassed, renderMatrix, renderServers } from './results';
import { checkPythonWorker } from './worker-suite';
import { checkSkyrl, SKYRL_CHOICES } from './skyrl-suite';

const SUITES = ['sdk', 'cookbook', 'recipes', 'python', 'environments', 'inspect', 'skyrl'] as const;
type SuiteName = (typeof SUITES)[number];
const NEVER_LEFT_OUT: readonly SuiteName[] = ['sdk', 'python'];

type Options = ReturnType<typeof readOptions>;

interface Outcome {
  readonly servers: readonly ServerResult[];
  readonly seconds: Readonly<Partial<Record<SuiteName, number>>>;
}

async function main(): Promise<number> {
  const options = readOptions();
  const python = await findPython();
  if ('missing' in python) {
    if (options.json) console.log(JSON.stringify({ skipped: python.missing }));
    else console.log(`Skipped: ${python.missing}.`);
    return 0;
  }
  const folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-interop-'));
  try {
    const outcome = await runAll(folder, options);
    if (options.json) console.log(JSON.stringify({ python: python.version, ...outcome }, null, 2));
    else console.log(render(outcome));
    return outcome.servers.every(isPassed) ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: SUITES.join(',') },
      skyrl: { type: 'string', default: SKYRL_CHOICES.join(',') },
      draw: { type: 'string' },
      client: { type: 'string' },
      check: { type: 'string' },
      checkout: { type: 'string' },
      'allow-skip': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  return {
    ...values,
    allowSkip: values['allow-skip'],
    suites: drawn(chosen('--only', values.only, SUITES), values.draw),
    parts: chosen('--skyrl', values.skyrl, SKYRL_CHOICES),
  };
}

function chosen<Name extends string>(flag: string, text: string, known: readonly Name[]): Name[] {
  const names = text.split(',');
  const unknown = names.filter((name) => !known.some((one) => one === name));
  if (unknown.length > 0)
    throw new Error(`${flag}: unknown "${unknown.join(', ')}". Known: ${known.join(', ')}.`);
  return known.filter((one) => names.includes(one));
}

/** Those that are never left out, and one of the others. */
function drawn(suites: readonly SuiteName[], text: string | undefined): SuiteName[] {
  if (text === undefined) return [...suites];
  const others = suites.filter((name) => !NEVER_LEFT_OUT.includes(name));
  const further = others[Number.parseInt(hash('sha256', text, 'hex').slice(0, 8), 16) % others.length];
  const kept = suites.filter((name) => NEVER_LEFT_OUT.includes(name) || name === further);
  progress(`Drawn by ${text}: npm run interop -- --only ${kept.join(',')}`);
  return kept;
}

/** Two suites side by side: each waits for one process at a time. Those that take longest begin. */
const LANES = Math.min(2, os.availableParallelism());
const LONGEST_FIRST: readonly SuiteName[] = [
  ...(['recipes', 'inspect', 'environments', 'skyrl', 'sdk', 'cookbook', 'python'] as const),
];

async function runAll(folder: string, options: Options): Promise<Outcome> {
  const seconds: Partial<Record<SuiteName, number>> = {};
  const ours = new Map<SuiteName, readonly ClientResult[]>();
  const others: ServerResult[] = [];
  const siteOf = (name: SuiteName): Site => ({
    ...pick(options),
    folder,
    onProgress: (text) => {
      progress(`${name}: ${text}`);
    },
    onCheck: (check) => {
      report(name, check);
    },
  });
  const suites: Record<SuiteName, (site: Site) => Promise<readonly ClientResult[]>> = {
    sdk: checkSdks,
    cookbook: checkCookbook,
    recipes: checkRecipes,
    python: async (site) => [await checkPythonWorker(site)],
    environments: async (site) => [await checkPythonEnvironments(site)],
    inspect: async (site) => [await checkInspect(site)],
    skyrl: async (site) => {
      others.push(await checkSkyrl({ ...site, parts: options.parts, checkout: options.checkout }));
      return [];
    },
  };
  const waiting = LONGEST_FIRST.filter((name) => options.suites.includes(name));
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const startedAt = performance.now();
      ours.set(name, await suites[name](siteOf(name)));
      seconds[name] = Math.round((performance.now() - startedAt) / 1000);
    }
  };
  // What throws ends its lane, once the other one has done the rest.
  const ends = await Promise.allSettled(Array.from({ length: LANES }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  const clients = options.suites.flatMap((name) => ours.get(name) ?? []);
  return { servers: clients.length === 0 ? others : [{ server: OUR_ENGINE, clients }, ...others], seconds };
}

function pick({ client, check, allowSkip }: Options): Pick<Site, 'client' | 'check' | 'allowSkip'> {
  return { client, check, allowSkip };
}

function render({ servers, seconds }: Outcome): string {
  const times = Object.entries(seconds).map(([name, value]) => `${name} ${value} s`);
  const matrix = `${renderServers(servers)}\n(Our own client on our own engine is what \`npm test\` checks.)`;
  return [...servers.map(renderMatrix), matrix, `Took: ${times.join(', ')}.`].join('\n\n');
}

function report(suite: SuiteName, { check, status, seconds, detail }: CheckResult): void {
  const time = seconds > 0 ? ` (${seconds.toFixed(1)} s)` : '';
  progress(`${suite}:   ${status.padEnd(7)} ${check}${time}${detail === null ? '' : `: ${detail}`}`);
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

main()
  .then((code) => {
    process.exitCode = code;
  })
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
