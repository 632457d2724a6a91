import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { DomainError } from '../../core/errors';
import type { LeaseHolder } from './lease-holder';
import { holderIn, holderNamed, isHolderAlive, nameOfHolder, ownHolder } from './lease-holder';
import { killProcessesNaming } from './processes-naming';
import { reachableFolder } from './reachable-folder';

/** Everything one sandbox has on this machine: a folder, and processes whose command line names the lease. */
export interface Lease {
  readonly id: string;
  readonly folder: string;
  /** Removes what the sandbox left. */
  release(): Promise<void>;
}

const HEARTBEAT_MS = 2000;
/** A holder that was silent for so long is taken for dead where nobody can ask its machine. */
const SILENT_MS = 30_000;
const LEASE_FILE = 'lease.json';
const LEASE = 'lease-';
/** Where a lease is put together before it has its name; `making-<key>.<holder>`, as it has no file that names its holder yet. */
const MAKING = 'making-';
/** Names of ours. Processes are killed by what is behind them, so that nothing shorter will do. */
const NAME = /^(?:lease-|making-)[0-9a-f]{24}(?:\.|$)/;
/** Others of the machine may write. */
const OPEN_TO_OTHERS = 0o022;

/**
 * The leases of a machine: `<root>/<id>/lease.json` names the holder and is touched every two seconds.
 *
 * A lease whose holder is dead or silent is reaped by any other process: its processes are killed and its folder is removed.
 */
export class Leases {
  private readonly held = new Map<string, string>();
  private heartbeat: NodeJS.Timeout | null = null;

  constructor(readonly root: string = defaultRoot()) {}

  async open(): Promise<Lease> {
    this.ensureRoot();
    const key = randomBytes(12).toString('hex');
    const id = `${LEASE}${key}`;
    const folder = path.join(this.root, id);
    const holder = ownHolder();
    // A reaper may look, and this process may be killed, at any moment: no lease is ever without its holder.
    const making = path.join(this.root, `${MAKING}${key}.${nameOfHolder(holder)}`);
    this.held.set(id, folder);
    await mkdir(making, { mode: 0o711 });
    await writeFile(path.join(making, LEASE_FILE), JSON.stringify(holder), { mode: 0o600 });
    await rename(making, folder);
    this.startHeartbeat();
    return { id, folder, release: () => this.release(id, folder) };
  }

  /** Removes what dead holders left; says how many leases that were. */
  async reap(): Promise<number> {
    if (!this.isOurs()) return 0;
    const names = await readdir(this.root);
    const dead = names.filter((name) => NAME.test(name) && !this.held.has(idOf(name)) && this.isDead(name));
    for (const name of dead) {
      // One that cannot be removed now keeps nobody from removing the others.
      await removeLease(idOf(name), path.join(this.root, name)).catch(() => undefined);
    }
    return dead.filter((name) => name.startsWith(LEASE)).length;
  }

  /** Leases there are, of any holder. */
  async list(): Promise<string[]> {
    const names = await readdir(this.root).catch(() => []);
    return names.filter((name) => name.startsWith(LEASE));
  }

  private async release(id: string, folder: string): Promise<void> {
    await removeFolder(folder);
    this.held.delete(id);
    if (this.held.size > 0 || this.heartbeat === null) return;
    clearInterval(this.heartbeat);
    this.heartbeat = null;
    process.removeListener('exit', this.removeAll);
  }

  private startHeartbeat(): void {
    if (this.heartbeat !== null) return;
    this.heartbeat = setInterval(() => {
      const now = new Date();
      for (const folder of this.held.values()) touch(path.join(folder, LEASE_FILE), now);
    }, HEARTBEAT_MS);
    this.heartbeat.unref();
    process.on('exit', this.removeAll);
  }

  /** A process that ends in order takes its leases along; its children have ended with their input. */
  private readonly removeAll = (): void => {
    for (const folder of this.held.values()) {
      try {
        rmSync(folder, { recursive: true, force: true });
      } catch {
        // The next reaper finds it.
      }
    }
  };

  private isDead(name: string): boolean {
    const file = path.join(this.root, name, LEASE_FILE);
    const silentSince = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
    // It had one from the start, so somebody was removing it.
    if (silentSince === undefined && name.startsWith(LEASE)) return true;
    const folderSince = lstatSync(path.join(this.root, name), { throwIfNoEntry: false })?.mtimeMs;
    const isSilent = Date.now() - (silentSince ?? folderSince ?? Date.now()) > SILENT_MS;
    const holder = readHolder(file) ?? holderNamed(name);
    return isSilent || (holder !== null && isHolderAlive(holder) === false);
  }

  private ensureRoot(): void {
    mkdirSync(this.root, { recursive: true, mode: 0o711 });
    if (this.isOurs()) return;
    throw new DomainError(
      'refused',
      `sandbox: ${this.root} belongs to somebody else, or others may write to it. Remove it, or set TMPDIR to a folder of your own.`,
    );
  }

  /** Everybody on this machine may put something of this name into the temporary folder: a folder of their own, or a link to one of ours. */
  private isOurs(): boolean {
    const found = lstatSync(this.root, { throwIfNoEntry: false });
    if (!found?.isDirectory()) return false;
    if (process.getuid === undefined) return true;
    return found.uid === process.getuid() && (found.mode & OPEN_TO_OTHERS) === 0;
  }
}

function defaultRoot(): string {
  return path.join(reachableFolder(), `everstep-sandboxes-${process.getuid?.() ?? 'user'}`);
}

/** Of a lease, or of one that is being put together. */
function idOf(name: string): string {
  return (name.split('.')[0] ?? name).replace(MAKING, LEASE);
}

async function removeLease(id: string, folder: string): Promise<void> {
  killProcessesNaming(id);
  await removeFolder(folder);
}

/**
 * Also where a program took its own rights to its folders away, or made more of them in each other than a path may name.
 *
 * Root needs no rights, and whoever has the user of its programs (nobody) could put a link in the place of a folder meanwhile.
 */
export async function removeFolder(folder: string): Promise<void> {
  if (process.getuid?.() === 0) return removeStepwise(folder);
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    await openFolders(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => removeStepwise(folder));
  }
}

/** That program goes from folder to folder, through no link, and so also where a path is longer than the system takes at once. */
async function removeStepwise(folder: string): Promise<void> {
  await promisify(execFile)('/bin/rm', ['-rf', '--', folder], { env: {}, cwd: '/' });
}

async function openFolders(folder: string): Promise<void> {
  await chmod(folder, 0o700).catch(() => undefined);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await openFolders(path.join(folder, entry.name));
}

function touch(file: string, now: Date): void {
  try {
    utimesSync(file, now, now);
  } catch {
    // Released or reaped meanwhile.
  }
}

function readHolder(file: string): LeaseHolder | null {
  try {
    return holderIn(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
