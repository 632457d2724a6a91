import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { removeFolder } from '../leases/leases';
import { reachableFolder } from '../leases/reachable-folder';
import { DEFAULT_LIMITS } from '../sandbox';
import type { BubblewrapTools } from './command';
import { runConfined } from './confined-process';
import { findArchitecture } from './seccomp/system-call-numbers';
import { Workspace } from './workspace';

const PLACES = ['/usr/bin', '/usr/local/bin', '/bin'];
const TRIAL_LIMIT_MS = 10_000;

/** What sandboxes need, tried out once; else why there can be none, with the remedy. */
export async function findTools(): Promise<BubblewrapTools | string> {
  if (process.platform !== 'linux') return 'it needs Linux';
  const bwrap = findProgram('bwrap');
  if (bwrap === null) return 'there is no bwrap; install the package bubblewrap';
  const prlimit = findProgram('prlimit');
  if (prlimit === null) return 'there is no prlimit; install the package util-linux';
  if (findProgram('python3') === null) return 'there is no python3 in /usr/bin; install the package python3';
  const architecture = findArchitecture(process.arch);
  if (architecture === null) return `its filter of system calls is for x64 and arm64, not ${process.arch}`;
  const tools = { bwrap, prlimit, architecture, canForbidNamespaces: await canForbidNamespaces(bwrap) };
  const problem = await tryOut(tools);
  return problem === null ? tools : `${bwrap} does not work here: ${problem}`;
}

function findProgram(name: string): string | null {
  return PLACES.map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function canForbidNamespaces(bwrap: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)(bwrap, ['--help'], { env: {} }).catch(() => ({ stdout: '' }));
  return stdout.includes('--disable-userns');
}

async function tryOut(tools: BubblewrapTools): Promise<string | null> {
  const folder = await mkdtemp(path.join(reachableFolder(), 'everstep-bwrap-trial-'));
  try {
    const workspace = new Workspace(path.join(folder, 'work'));
    // bwrap runs as nobody where we are root, and has to find its way through.
    await chmod(folder, 0o711);
    await workspace.create();
    const { exitCode, stderr } = await runConfined({
      tools,
      folder: workspace.folder,
      zeros: workspace.zeros,
      argv: ['true'],
      env: {},
      stdin: '',
      timeoutMs: TRIAL_LIMIT_MS,
      limits: DEFAULT_LIMITS,
      signal: undefined,
    });
    return exitCode === 0 ? null : stderr.trim() || `it ended with ${String(exitCode)}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await removeFolder(folder);
  }
}
