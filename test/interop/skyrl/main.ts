import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { findFreePort } from '../../../src/stack/free-port';
import { ROOT, startEngine } from '../processes';
import type { Check } from './checks';
import type { SkyrlEnvironment } from './environment';
import { makeModel, openSkyrl } from './environment';
import { checkOperations } from './operations';
import { SkyrlServer } from './server';
import { checkSurvival } from './survival';

export const SKYRL_PARTS = ['operations', 'survival'] as const;
type Part = (typeof SKYRL_PARTS)[number];

export interface SkyrlOptions {
  /** Default: all. */
  readonly parts?: readonly Part[];
  /** A checkout of SkyRL to serve instead of the release. */
  readonly checkout?: string | undefined;
  readonly onCheck?: (check: Check) => void;
  readonly onProgress?: (text: string) => void;
}

export interface SkyrlResult {
  /** Package and version of the server. */
  readonly name: string;
  readonly checks: readonly Check[];
  /** Why there was nothing to run it with. */
  readonly skipped?: string;
}

interface Site {
  readonly environment: SkyrlEnvironment;
  readonly folder: string;
  readonly onCheck: (check: Check) => void;
}

/** Our client and a whole run against a real SkyRL server from PyPI, on this machine's CPU. */
export async function runSkyrl({
  parts = SKYRL_PARTS,
  checkout,
  onCheck = () => undefined,
  onProgress = () => undefined,
}: SkyrlOptions = {}): Promise<SkyrlResult> {
  const onInstall = (what: string): void => {
    onProgress(`Installing ${what} from PyPI (first use)…`);
  };
  const environment = await openSkyrl({ checkout, onInstall });
  if ('missing' in environment) return { name: 'skyrl', checks: [], skipped: environment.missing };
  const { name } = environment;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-skyrl-'));
  const site = { environment, folder, onCheck };
  try {
    const checks: Check[] = [];
    if (parts.includes('operations')) checks.push(...(await operations(site)));
    if (parts.includes('survival')) checks.push(...(await survival(site)));
    return { name, checks };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** SkyRL serves the very weights that ship with Everstep, so that our engine says what is right. */
async function operations({ environment, folder, onCheck }: Site): Promise<Check[]> {
  const model = path.join(ROOT, 'models/everstep-tiny');
  const port = await findFreePort();
  const server = new SkyrlServer({ environment, folder: path.join(folder, 'operations'), port, model });
  const engine = await startEngine(await findFreePort(), path.join(folder, 'engine'));
  try {
    await server.start();
    return await checkOperations({ skyrlUrl: server.url, skyrlModel: model, engineUrl: engine.url }, onCheck);
  } finally {
    await server.stop();
    await engine.stop();
  }
}

async function survival({ environment, folder, onCheck }: Site): Promise<Check[]> {
  const model = path.join(folder, 'tiny-qwen3');
  await makeModel(environment, model);
  const plan = { environment, folder: path.join(folder, 'survival'), port: await findFreePort(), model };
  const server = new SkyrlServer(plan);
  try {
    await server.start();
    return await checkSurvival({ server, model, folder }, onCheck);
  } finally {
    await server.stop();
  }
}
