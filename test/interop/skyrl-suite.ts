/** SkyRL from PyPI under our client, and under the official SDK in three generations of its protocol. */
import path from 'node:path';
import { EVERSTEP_VERSION } from '../../src/core/version';
import { findFreePort } from '../../src/stack/free-port';
import type { Site } from './engine-suite';
import { forEachSdk } from './engine-suite';
import type { CheckResult, ClientResult, ServerResult } from './results';
import { failed, skipped } from './results';
import { runScript } from './sdk-suite';
import type { Check } from './skyrl/checks';
import type { SkyrlEnvironment } from './skyrl/environment';
import { makeModel, openSkyrl } from './skyrl/environment';
import { runSkyrl, SKYRL_PARTS } from './skyrl/main';
import { SkyrlServer } from './skyrl/server';

/** `clients`: the official SDK, which tells of SkyRL and not of us. */
export const SKYRL_CHOICES = [...SKYRL_PARTS, 'clients'] as const;
type SkyrlChoice = (typeof SKYRL_CHOICES)[number];

export interface SkyrlSite extends Site {
  readonly parts: readonly SkyrlChoice[];
  readonly checkout: string | undefined;
}

/** A client that asks again and again is cut off after this long; what works needs a fraction of it, compiling included. */
const OPERATION_SECONDS = 60;

export async function checkSkyrl(site: SkyrlSite): Promise<ServerResult> {
  const ours = `everstep ${EVERSTEP_VERSION}`;
  const environment = await openSkyrl({
    checkout: site.checkout,
    onInstall: (what) => {
      site.onProgress(`Installing ${what} from PyPI (first use)…`);
    },
  }).catch((error: unknown) => String(error).slice(0, 800));
  if (typeof environment === 'string' || 'missing' in environment) {
    const isSkipped = typeof environment !== 'string' || site.allowSkip;
    const reason = typeof environment === 'string' ? environment : environment.missing;
    const check = (isSkipped ? skipped : failed)('environment', reason);
    site.onCheck(check);
    return { server: 'skyrl', clients: [{ client: ours, checks: [check] }] };
  }
  const clients: ClientResult[] = [];
  if (site.parts.includes('clients')) clients.push(...(await observeSdks(site, environment)));
  const parts = SKYRL_PARTS.filter((part) => site.parts.includes(part));
  if (parts.length > 0) {
    site.onProgress(`${ours} on ${environment.name}:`);
    const { checkout } = site;
    const onCheck = (check: Check): void => {
      site.onCheck(resultOf(check));
    };
    const { checks } = await runSkyrl({ parts, checkout, onCheck, onProgress: site.onProgress });
    clients.push({ client: ours, checks: checks.map(resultOf) });
  }
  return { server: environment.name, clients };
}

async function observeSdks(site: SkyrlSite, environment: SkyrlEnvironment): Promise<ClientResult[]> {
  const folder = path.join(site.folder, 'skyrl-clients');
  const model = path.join(folder, 'tiny-qwen3');
  await makeModel(environment, model);
  const server = new SkyrlServer({ environment, folder, port: await findFreePort(), model });
  try {
    await server.start();
    return await forEachSdk(site, server.url, async (suite) => {
      const args = [model, String(OPERATION_SECONDS)];
      const checks = await runScript({ ...suite, script: 'any_server.py', args });
      return { client: suite.environment.name, checks, isObserved: true };
    });
  } finally {
    await server.stop();
  }
}

function resultOf({ name, ok, detail }: Check): CheckResult {
  return { check: name, status: ok ? 'passed' : 'failed', seconds: 0, detail, fingerprint: null };
}
