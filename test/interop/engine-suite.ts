/** Our engine under the clients of others: the official SDK in three generations of its protocol, and tinker-cookbook. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { EVERSTEP_VERSION } from '../../src/core/version';
import { findFreePort } from '../../src/stack/free-port';
import { runCookbook } from './cookbook-suite';
import type { PackageVersion } from './environments';
import { openEnvironment, openRecipes } from './environments';
import { startEngine } from './processes';
import type { CheckResult, ClientResult } from './results';
import { compareClients, failed, skipped } from './results';
import { modelsOfRecipes, runRecipes } from './recipe-suite';
import type { ScriptRun } from './sdk-suite';
import { runSdk } from './sdk-suite';

/** The last that speaks JSON, the first that speaks only protobuf, and today's. */
const SDK_VERSIONS = ['0.24.1', '0.25.0', null] as const;
/** The recipes' arguments and data are of this version: another one may name both otherwise. */
const RECIPES_OF = '0.6.1';

export interface Site {
  readonly folder: string;
  /** Only this version of the SDK; `newest` is the newest on PyPI. */
  readonly client: string | undefined;
  readonly check: string | undefined;
  /** What cannot be installed is skipped instead of failed. */
  readonly allowSkip: boolean;
  readonly onProgress: (text: string) => void;
  readonly onCheck: (check: CheckResult) => void;
}

export type Suite = Omit<ScriptRun, 'script' | 'args'>;

export const OUR_ENGINE = `everstep engine ${EVERSTEP_VERSION}`;

export async function checkSdks(site: Site): Promise<ClientResult[]> {
  return compareClients(
    await withEngine(site, { name: 'sdk' }, (engineUrl) =>
      forEachSdk(site, engineUrl, (suite) => runSdk(suite, site.check)),
    ),
  );
}

export async function checkCookbook(site: Site): Promise<ClientResult[]> {
  const entry = { name: 'tinker-cookbook', version: null };
  return withEngine(site, { name: 'cookbook' }, async (engineUrl) => [
    await withEnvironment({ site, entry, serverUrl: engineUrl }, runCookbook),
  ]);
}

export async function checkRecipes(site: Site): Promise<ClientResult[]> {
  const model = path.join(site.folder, 'recipe-model');
  const models = await modelsOfRecipes(model);
  return withEngine(site, { name: 'recipes', models }, async (engineUrl) => [
    await withEnvironment({ site, entry: 'recipes', serverUrl: engineUrl }, (suite) =>
      runRecipes({ ...suite, model }, site.check),
    ),
  ]);
}

export async function forEachSdk(
  site: Site,
  serverUrl: string,
  run: (suite: Suite) => Promise<ClientResult>,
): Promise<ClientResult[]> {
  const wanted = SDK_VERSIONS.filter(
    (version) => site.client === undefined || (version ?? 'newest') === site.client,
  );
  const results: ClientResult[] = [];
  for (const version of wanted)
    results.push(await withEnvironment({ site, entry: { name: 'tinker', version }, serverUrl }, run));
  return results;
}

async function withEngine(
  site: Site,
  { name, models }: { readonly name: string; readonly models?: readonly string[] },
  run: (engineUrl: string) => Promise<ClientResult[]>,
): Promise<ClientResult[]> {
  const folder = path.join(site.folder, `engine-${name}`);
  const engine = await startEngine(await findFreePort(), folder, models);
  try {
    return await run(engine.url);
  } finally {
    await engine.stop();
  }
}

interface Place {
  readonly site: Site;
  readonly entry: PackageVersion | 'recipes';
  readonly serverUrl: string;
}

/** A client that cannot even be installed is a failure of its own, and the others still run. */
async function withEnvironment(
  { site, entry, serverUrl }: Place,
  run: (suite: Suite) => Promise<ClientResult>,
): Promise<ClientResult> {
  const onInstall = (what: string): void => {
    site.onProgress(`Installing ${what} from PyPI (first use)…`);
  };
  const opening =
    entry === 'recipes' ? openRecipes(RECIPES_OF, onInstall) : openEnvironment(entry, onInstall);
  const environment = await opening.catch((error: unknown) => String(error).slice(0, 800));
  if (typeof environment === 'string') {
    const check = (site.allowSkip ? skipped : failed)('environment', environment);
    site.onCheck(check);
    return { client: nameOf(entry), checks: [check] };
  }
  const home = path.join(
    site.folder,
    `${entry === 'recipes' ? 'recipes-of-' : ''}${environment.name.replaceAll(' ', '-')}`,
  );
  await mkdir(home, { recursive: true });
  site.onProgress(`${environment.name}:`);
  return run({ environment, folder: home, engineUrl: serverUrl, onCheck: site.onCheck });
}

function nameOf(entry: Place['entry']): string {
  if (entry === 'recipes') return `tinker-cookbook ${RECIPES_OF}`;
  return `${entry.name} ${entry.version ?? 'newest'}`;
}
