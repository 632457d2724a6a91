/**
 * Our engine under the clients of others: the official Python SDK in three generations of its protocol, and
 * tinker-cookbook.
 *
 *     npm run interop [-- --only sdk,cookbook] [--client 0.25.0] [--check TEXT] [--json]
 *
 * Environments are installed from PyPI on first use (about 7 GB with PyTorch) and kept in the cache folder.
 * Exit 1 when a check fails; 0 where there is no Python to run them with, which is said.
 */
import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { EVERSTEP_VERSION } from '../../src/core/version';
import { findFreePort } from '../../src/stack/free-port';
import { runCookbook } from './cookbook-suite';
import type { PackageVersion } from './environments';
import { findPython, openEnvironment } from './environments';
import { startEngine } from './processes';
import type { CheckResult, ClientResult, ServerResult } from './results';
import { compareClients, failed, isPassed, renderMatrix } from './results';
import { runSdk } from './sdk-suite';

/** The last that speaks JSON, the first that speaks only protobuf, and today's. */
const SDK_VERSIONS = ['0.24.1', '0.25.0', null] as const;
const SUITES = ['sdk', 'cookbook'] as const;
type SuiteName = (typeof SUITES)[number];

interface Options {
  readonly suites: readonly SuiteName[];
  readonly client: string | undefined;
  readonly check: string | undefined;
  readonly json: boolean;
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
    const result = await runAll(folder, options);
    console.log(
      options.json ? JSON.stringify({ python: python.version, ...result }, null, 2) : renderMatrix(result),
    );
    return isPassed(result) ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: SUITES.join(',') },
      client: { type: 'string' },
      check: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const names = values.only.split(',');
  const suites = SUITES.filter((suite) => names.includes(suite));
  const unknown = names.filter((name) => !SUITES.some((suite) => suite === name));
  if (unknown.length > 0)
    throw new Error(`Unknown suite "${unknown.join(', ')}". Known: ${SUITES.join(', ')}.`);
  return { suites, client: values.client, check: values.check, json: values.json };
}

async function runAll(folder: string, options: Options): Promise<ServerResult> {
  const engine = await startEngine(await findFreePort(), path.join(folder, 'engine'));
  try {
    const clients: ClientResult[] = [];
    if (options.suites.includes('sdk'))
      clients.push(...compareClients(await runSdks(folder, engine.url, options)));
    if (options.suites.includes('cookbook')) {
      const entry = { name: 'tinker-cookbook', version: null };
      clients.push(await withEnvironment({ entry, folder, engineUrl: engine.url }, runCookbook));
    }
    return { server: `everstep engine ${EVERSTEP_VERSION}`, clients };
  } finally {
    await engine.stop();
  }
}

async function runSdks(folder: string, engineUrl: string, options: Options): Promise<ClientResult[]> {
  const wanted = SDK_VERSIONS.filter(
    (version) => options.client === undefined || (version ?? 'newest') === options.client,
  );
  const results: ClientResult[] = [];
  for (const version of wanted) {
    const entry = { name: 'tinker', version };
    results.push(
      await withEnvironment({ entry, folder, engineUrl }, (suite) => runSdk(suite, options.check)),
    );
  }
  return results;
}

interface Place {
  readonly entry: PackageVersion;
  readonly folder: string;
  readonly engineUrl: string;
}

/** A client that cannot even be installed is a failure of its own, and the others still run. */
async function withEnvironment(
  { entry, folder, engineUrl }: Place,
  run: (suite: Parameters<typeof runCookbook>[0]) => Promise<ClientResult>,
): Promise<ClientResult> {
  const client = `${entry.name} ${entry.version ?? 'newest'}`;
  try {
    const environment = await openEnvironment(entry, (what) => {
      progress(`Installing ${what} from PyPI (first use)…`);
    });
    const home = path.join(folder, environment.name.replaceAll(' ', '-'));
    await mkdir(home, { recursive: true });
    progress(`${environment.name}:`);
    return await run({ environment, folder: home, engineUrl, onCheck: report });
  } catch (error) {
    const check = failed('environment', error instanceof Error ? error.message.slice(0, 800) : String(error));
    report(check);
    return { client, checks: [check] };
  }
}

function report({ check, status, seconds, detail }: CheckResult): void {
  progress(`  ${status.padEnd(7)} ${check} (${seconds.toFixed(1)} s)${detail === null ? '' : `: ${detail}`}`);
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
