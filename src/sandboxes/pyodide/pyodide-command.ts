import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { LineCommand } from './line-process';
import { LineProcess } from './line-process';
import { endsItselfAfterMs } from './python-program';
import type { PythonProgram } from './python-program';

const HOST_FOLDER = path.join(__dirname, 'host');
const HOST = path.join(HOST_FOLDER, 'pyodide-host.mjs');
const PYODIDE = path.dirname(require.resolve('pyodide/package.json'));
/** A program that reaches JavaScript cannot make code there. */
const HOSTILE_FLAGS = ['--disallow-code-generation-from-strings', '--max-old-space-size=256', '--expose-gc'];
const SNAPSHOT_ENDING = '.snapshot';
/** Of other versions, which may be in use beside this one. */
const KEPT_SNAPSHOTS = 2;
/** Writing one takes seconds. */
const ABANDONED_MS = 600_000;
/** One at a time in this process, so that two graders do not make the same file twice. */
const snapshots = new Map<string, Promise<string | null>>();

export interface PyodideOptions {
  /** Where the memory of the started interpreter is kept; null keeps none, and every start takes some seconds. */
  readonly cacheFolder?: string | null;
}

/**
 * How to start a program in Pyodide: a Node process with an empty environment that may read Pyodide, the wheels and the program,
 * and write nothing.
 *
 * The first start on a machine also writes a snapshot of the interpreter's memory (some 95 MB, in the user's cache folder); later starts
 * take a second with it and some seven without.
 */
export async function pyodideCommand(
  program: PythonProgram,
  options: PyodideOptions = {},
): Promise<LineCommand> {
  const folder = options.cacheFolder === undefined ? defaultCacheFolder() : options.cacheFolder;
  const snapshot = folder === null ? null : await snapshotOf(program, folder);
  return hostCommand({ mode: 'serve', program, snapshot });
}

function defaultCacheFolder(): string {
  return path.join(homedir(), '.cache', 'everstep', 'pyodide');
}

interface HostInput {
  readonly mode: 'serve' | 'snapshot';
  readonly program: PythonProgram;
  readonly snapshot: string | null;
}

function hostCommand({ mode, program, snapshot }: HostInput): LineCommand {
  const settings = {
    pyodide: PYODIDE,
    wheels: program.wheels.map((wheel) => ({ path: wheel.path, sha256: wheel.sha256 })),
    program: program.path,
    warmUp: program.warmUp,
    snapshot,
    memoryLimit: program.memoryLimitBytes,
    limitMs: endsItselfAfterMs(program),
    ...(program.hostile && { hostile: program.hostile }),
  };
  const readable = [
    `${HOST_FOLDER}/*`,
    `${PYODIDE}/*`,
    program.path,
    ...program.wheels.map((wheel) => wheel.path),
  ];
  const writable = mode === 'snapshot' && snapshot !== null ? [snapshot] : [];
  if (snapshot !== null) readable.push(snapshot);
  return {
    program: process.execPath,
    args: [
      ...permissionFlags(readable, writable),
      ...(program.hostile ? HOSTILE_FLAGS : []),
      ...[HOST, mode, JSON.stringify(settings)],
    ],
    environment: {},
  };
}

/** The worker is the host's own watch over its questions. */
function permissionFlags(readable: readonly string[], writable: readonly string[]): readonly string[] {
  const flag = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission';
  return [
    '--no-warnings',
    flag,
    '--allow-worker',
    ...readable.map((each) => `--allow-fs-read=${each}`),
    ...writable.map((each) => `--allow-fs-write=${each}`),
  ];
}

function snapshotOf(program: PythonProgram, folder: string): Promise<string | null> {
  const file = path.join(folder, `${identityOf(program)}${SNAPSHOT_ENDING}`);
  if (existsSync(file)) return Promise.resolve(file);
  const underWay = snapshots.get(file) ?? makeSnapshot(program, file);
  snapshots.set(file, underWay);
  return underWay;
}

/** Null where it cannot be made, for instance because the folder is not writable: starting is slower then. */
async function makeSnapshot(program: PythonProgram, file: string): Promise<string | null> {
  const unfinished = `${file}.${process.pid}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    const host = new LineProcess(hostCommand({ mode: 'snapshot', program, snapshot: unfinished }));
    const line = await keepingAlive(host.ready);
    host.kill();
    if (line === null || !existsSync(unfinished) || line !== '{"ready":true}') return null;
    renameSync(unfinished, file);
    removeOthers(file);
    return file;
  } catch {
    return null;
  } finally {
    rmSync(unfinished, { force: true });
    snapshots.delete(file);
  }
}

/** Waits for a child that does not count as work by itself. */
async function keepingAlive<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, 60_000);
  return promise.finally(() => {
    clearInterval(timer);
  });
}

/** All but the newest snapshots of other versions of the same program, and what killed processes left of any. */
function removeOthers(file: string): void {
  const name = path.basename(file).split('-')[0] ?? '';
  const others = readdirSync(path.dirname(file))
    .filter((entry) => entry.startsWith(`${name}-`) && entry !== path.basename(file))
    .map((entry) => path.join(path.dirname(file), entry));
  const snapshots = others.filter((other) => other.endsWith(SNAPSHOT_ENDING));
  const old = snapshots.sort((left, right) => madeAt(right) - madeAt(left)).slice(KEPT_SNAPSHOTS);
  const abandoned = others.filter((other) => !other.endsWith(SNAPSHOT_ENDING) && isAbandoned(other));
  for (const other of [...old, ...abandoned]) rmSync(other, { force: true });
}

function isAbandoned(unfinished: string): boolean {
  return Date.now() - madeAt(unfinished) > ABANDONED_MS;
}

function madeAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
}

/** Of everything that goes into the interpreter's memory. */
function identityOf(program: PythonProgram): string {
  const hash = createHash('sha256');
  const host = readdirSync(HOST_FOLDER)
    .sort()
    .map((name) => path.join(HOST_FOLDER, name));
  for (const file of [path.join(PYODIDE, 'package.json'), ...host, program.path])
    hash.update(readFileSync(file));
  hash.update(JSON.stringify([process.version, program.warmUp, program.wheels.map((wheel) => wheel.sha256)]));
  return `${program.name}-${hash.digest('hex').slice(0, 24)}`;
}
