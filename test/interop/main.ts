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

async function runAll(folder: string, options: Options): Promise<Outcome> {
  const site: Site = { ...pick(options), folder, onProgress: progress, onCheck: report };
  const ours: ClientResult[] = [];
  const others: ServerResult[] = [];
  const seconds: Partial<Record<SuiteName, number>> = {};
  const suites: Record<SuiteName, () => Promise<unknown>> = {
    sdk: async () => ours.push(...(await checkSdks(site))),
    cookbook: async () => ours.push(...(await checkCookbook(site))),
    recipes: async () => ours.push(...(await checkRecipes(site))),
    python: async () => ours.push(await checkPythonWorker(site)),
    environments: async () => ours.push(await checkPythonEnvironments(site)),
    inspect: async () => ours.push(await checkInspect(site)),
    skyrl: async () =>
      others.push(await checkSkyrl({ ...site, parts: options.parts, checkout: options.checkout })),
  };
  for (const name of options.suites) {
    const startedAt = performance.now();
    await suites[name]();
    seconds[name] = Math.round((performance.now() - startedAt) / 1000);
  }
  const servers = ours.length === 0 ? others : [{ server: OUR_ENGINE, clients: ours }, ...others];
  return { servers, seconds };
}

function pick({ client, check, allowSkip }: Options): Pick<Site, 'client' | 'check' | 'allowSkip'> {
  return { client, check, allowSkip };
}

function render({ servers, seconds }: Outcome): string {
  const times = Object.entries(seconds).map(([name, value]) => `${name} ${value} s`);
  const matrix = `${renderServers(servers)}\n(Our own client on our own engine is what \`npm test\` checks.)`;
  return [...servers.map(renderMatrix), matrix, `Took: ${times.join(', ')}.`].join('\n\n');
}

function report({ check, status, seconds, detail }: CheckResult): void {
  const time = seconds > 0 ? ` (${seconds.toFixed(1)} s)` : '';
  progress(`  ${status.padEnd(7)} ${check}${time}${detail === null ? '' : `: ${detail}`}`);
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
