import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { anySignal } from '../../../core/concurrency/any-signal';
import { hasErrorCode } from '../../../core/error-code';
import { DomainError } from '../../../core/errors';
import { readWholeFile } from '../../../stores/reading';
import { writeJson } from '../../../stores/whole-file';
import { digestOf } from '../../digest';
import { checkVariableNames } from './passed-variables';
import { PipProgress } from './pip-progress';

/** Versions that the gateway and the reading of logs are tested with. */
const INSPECT_PACKAGES = ['inspect-ai==0.3.285', 'openai==3.54.0'] as const;

const InspectEnvironment = z.object({
  /** The interpreter, absolute. */
  python: z.string().min(1),
  inspectVersion: z.string(),
  /** What was asked to be installed; null where the environment is a person's own. */
  packages: z.array(z.string()).nullable(),
  /** Names of the worker's variables that tasks get. */
  variables: z.array(z.string()).default([]),
});
export type InspectEnvironment = z.infer<typeof InspectEnvironment>;

export interface SetupOptions {
  readonly cacheFolder: string;
  /** The environment of whoever asks: pip's settings are there. */
  readonly variables: Readonly<Record<string, string>>;
  /** An interpreter that has Inspect already. */
  readonly python?: string;
  /** Besides Inspect, e.g. `inspect-evals`. */
  readonly extraPackages: readonly string[];
  /** Names of variables that tasks are to get; default those of the setup before. */
  readonly passed?: readonly string[];
  readonly onProgress: (text: string) => void;
  readonly signal?: AbortSignal;
  /** How often a step that says nothing itself is told of; default every ten seconds. */
  readonly tellEveryMs?: number;
}

export interface SetupReport extends InspectEnvironment {
  readonly isNew: boolean;
}

const INSTALL_LIMIT_MS = 30 * 60_000;
const LOOK_LIMIT_MS = 120_000;
const PLACE_CODES = ['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'EEXIST'];
const PIP_REMEDY =
  "Check that PyPI can be reached (pip's own settings and HTTPS_PROXY are used) and the disk has room, then give the command again.";
const OLDEST_PYTHON = [3, 10] as const;
const VERSION = 'import importlib.metadata as m, openai; print(m.version("inspect-ai"))';

/** Where Inspect's own files go: its home, in which data sets are kept. */
export function inspectHome(cacheFolder: string): string {
  return path.join(cacheFolder, 'inspect', 'home');
}

/** The environment that tasks run in. Throws what to do where there is none. */
export async function findInspectEnvironment(cacheFolder: string): Promise<InspectEnvironment> {
  const stored = await readEnvironmentRecord(cacheFolder);
  if (stored) return stored;
  throw new DomainError(
    'bad-config',
    'There is no Python environment with Inspect AI on this machine. Make one with: everstep inspect setup, or name your own: everstep inspect setup --python PATH',
  );
}

/** Makes the environment, unless it is there, and notes which variables tasks get. */
export async function setUpInspect(options: SetupOptions): Promise<SetupReport> {
  const passed = options.passed && checkVariableNames(options.passed);
  const stored = await readEnvironmentRecord(options.cacheFolder);
  const isThere = stored !== null && (await isAsAsked(stored, options));
  const found = isThere ? stored : await makeEnvironment(options);
  const made: InspectEnvironment = { ...found, variables: passed ?? stored?.variables ?? [] };
  await writeJson(recordPath(options.cacheFolder), made);
  return { ...made, isNew: !isThere };
}

/** Who names variables alone means the environment that is there, whosever it is. */
async function isAsAsked(stored: InspectEnvironment, options: SetupOptions): Promise<boolean> {
  const { python, extraPackages, passed } = options;
  if (python !== undefined) return false;
  const isMeant = passed !== undefined && extraPackages.length === 0;
  const isSame = digestOf(stored.packages) === digestOf([...INSPECT_PACKAGES, ...extraPackages]);
  return (isMeant || isSame) && (await versionOf(stored.python, options)) !== null;
}

async function makeEnvironment(options: SetupOptions): Promise<Omit<InspectEnvironment, 'variables'>> {
  const { python, extraPackages } = options;
  const packages = python === undefined ? [...INSPECT_PACKAGES, ...extraPackages] : null;
  const interpreter = packages ? await install(packages, options) : path.resolve(python ?? '');
  const inspectVersion = await versionOf(interpreter, options);
  if (inspectVersion === null) throw lacksInspect(interpreter);
  return { python: interpreter, inspectVersion, packages };
}

async function install(packages: readonly string[], options: SetupOptions): Promise<string> {
  await requirePython(options);
  await requireCacheFolder(options.cacheFolder);
  const folder = path.join(options.cacheFolder, 'inspect', `python-${digestOf(packages).slice(0, 12)}`);
  const python = path.join(folder, 'bin', 'python');
  // Half of one may be left from an installation that was interrupted.
  await rm(folder, { recursive: true, force: true });
  options.onProgress(`1 of 3: making a Python environment in ${folder} …`);
  await succeed(['python3', '-m', 'venv', folder], {
    ...options,
    remedy: `Check that ${folder} can be written and its disk has room, or name another place for it with XDG_CACHE_HOME, then give the command again.`,
  });
  options.onProgress(`2 of 3: installing ${packages.join(', ')} and what they need, some 360 MB …`);
  const pip = ['-m', 'pip', 'install', '--progress-bar=off', '--disable-pip-version-check', '--no-input'];
  const progress = new PipProgress(folder, options);
  try {
    await succeed([python, ...pip, ...packages], {
      ...options,
      onLine: (line) => {
        progress.hear(line);
      },
      remedy: PIP_REMEDY,
    });
  } finally {
    progress.end();
  }
  options.onProgress('3 of 3: importing what was installed …');
  return python;
}

async function requirePython(options: SetupOptions): Promise<void> {
  const words = ['python3', '-c', 'import sys, venv, ensurepip; print(*sys.version_info[:2])'];
  const asked = await run(words, { ...options, limitMs: LOOK_LIMIT_MS });
  const [major = 0, minor = 0] = asked.output.trim().split(' ').map(Number);
  if (asked.code === 0 && major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]) return;
  throw new DomainError(
    'bad-config',
    asked.code === 0
      ? `python3 is ${major}.${minor}, and Inspect AI needs ${OLDEST_PYTHON.join('.')} or newer. Install it, or name one that has Inspect: everstep inspect setup --python PATH`
      : 'There is no python3 with venv on the path. Install it (python3 and python3-venv), or name one that has Inspect: everstep inspect setup --python PATH',
  );
}

/** What is missing is the place, whatever would have been put there. */
async function requireCacheFolder(cacheFolder: string): Promise<void> {
  try {
    const folder = path.join(cacheFolder, 'inspect');
    await mkdir(folder, { recursive: true });
    await rm(await mkdtemp(path.join(folder, 'probe-')), { recursive: true });
  } catch (error) {
    throw new DomainError(
      'bad-config',
      `The cache folder ${cacheFolder} cannot be written (${codeOf(error)}). Name another with XDG_CACHE_HOME, for this command and for the workers that run tasks.`,
    );
  }
}

function codeOf(error: unknown): string {
  return PLACE_CODES.find((code) => hasErrorCode(error, code)) ?? String(error);
}

interface StepOptions extends SetupOptions {
  readonly remedy: string;
  readonly onLine?: (line: string) => void;
}

async function succeed(words: readonly string[], options: StepOptions): Promise<void> {
  const { code, output } = await run(words, { ...options, limitMs: INSTALL_LIMIT_MS });
  if (code === 0) return;
  options.signal?.throwIfAborted();
  throw new DomainError(
    'unreachable',
    `${words.slice(1, 4).join(' ')} failed: ${lastLines(output)} ${options.remedy}`,
  );
}

/** null where it has no Inspect, or is none. */
async function versionOf(python: string, options: SetupOptions): Promise<string | null> {
  const { code, output } = await run([python, '-c', VERSION], { ...options, limitMs: LOOK_LIMIT_MS });
  return code === 0 ? output.trim() : null;
}

interface RunOptions extends Pick<SetupOptions, 'variables' | 'signal'> {
  readonly onLine?: (line: string) => void;
  readonly limitMs: number;
}

function run(
  [program = '', ...args]: readonly string[],
  { variables, signal, limitMs, onLine }: RunOptions,
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const limit = AbortSignal.timeout(limitMs);
    const child = spawn(program, args, {
      env: { ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: signal ? anySignal([signal, limit]) : limit,
    });
    let output = '';
    if (onLine) createInterface({ input: child.stdout }).on('line', onLine);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', (error) => {
      resolve({ code: null, output: `${output}${error.message}` });
    });
    child.once('close', (code) => {
      resolve({ code, output });
    });
  });
}

/** null where no environment was made. */
export async function readEnvironmentRecord(cacheFolder: string): Promise<InspectEnvironment | null> {
  const text = await readWholeFile(recordPath(cacheFolder));
  if (text === null) return null;
  try {
    return InspectEnvironment.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function recordPath(cacheFolder: string): string {
  return path.join(cacheFolder, 'inspect', 'environment.json');
}

function lacksInspect(python: string): DomainError {
  return new DomainError(
    'bad-config',
    `${python} cannot import inspect_ai and openai. Install them there: ${python} -m pip install ${INSPECT_PACKAGES.join(' ')}`,
  );
}

function lastLines(output: string): string {
  return output.trim().split('\n').slice(-3).join(' ').slice(-600);
}
