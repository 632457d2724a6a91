/**
 * Python environments, made on first use and kept:
 *
 *     <cache>/interop-1/torch/            PyTorch, which all others see by a path file
 *     <cache>/interop-1/tinker-0.24.1/    one a version of the SDK
 *     <cache>/interop-1/tinker-cookbook-0.6.1/
 *     <cache>/interop-1/recipes-0.6.1/        the same with what its recipes need besides
 *
 * A folder without `.complete` was left half-made and is made again.
 */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readEnvironment } from '../../src/config/environment';
import { runProgram } from './processes';

/** Raised when what is inside an environment changes. */
const LAYOUT = 'interop-1';
const INSTALL_TIMEOUT_MS = 30 * 60_000;
const OLDEST_PYTHON = [3, 11] as const;

/** What the recipes named in recipes.ts import besides. */
const EXTRAS = ['math-rl', 'multiplayer-rl'] as const;
const REQUIREMENTS = `
import sys
from importlib.metadata import requires
from pip._vendor.packaging.requirements import Requirement
relaxed, *extras, package = sys.argv[1:]
for one in map(Requirement, requires(package.split("==")[0])):
    if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras):
        print(one.name if one.name == relaxed else f"{one.name}{one.specifier}")
`;

export interface PythonEnvironment {
  /** Package and version, e.g. `tinker 0.38.0`. */
  readonly name: string;
  readonly python: string;
}

export interface PackageVersion {
  readonly name: string;
  /** null: the newest on PyPI, or the newest already here when PyPI cannot be asked. */
  readonly version: string | null;
}

/** Python's version, or why there is none to use. */
export async function findPython(): Promise<{ readonly version: string } | { readonly missing: string }> {
  const script = 'import sys, venv; print(".".join(map(str, sys.version_info[:3])))';
  const asked = await runProgram(['python3', '-c', script]).catch(() => null);
  if (asked?.code !== 0) return { missing: 'no python3 with venv on the path' };
  const version = asked.stdout.trim();
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]) return { version };
  return { missing: `python3 is ${version}; ${OLDEST_PYTHON.join('.')} or newer is needed` };
}

export async function openEnvironment(
  { name, version }: PackageVersion,
  onInstall: (what: string) => void,
): Promise<PythonEnvironment> {
  const root = path.join(readEnvironment().cacheFolder, LAYOUT);
  const torch = path.join(root, 'torch');
  await make({ folder: torch, packages: ['torch', 'numpy'], onInstall });
  const folder = path.join(root, `${name}-${version ?? (await newestVersion(root, name))}`);
  // Without a version pip takes the newest whose own requirements can be met, which may not be the newest.
  const wanted = version === null ? name : `${name}==${version}`;
  await make({ folder, packages: [wanted, 'numpy'], sees: torch, onInstall });
  const python = pythonOf(folder);
  const script = `import importlib.metadata; print(importlib.metadata.version("${name}"))`;
  return { name: `${name} ${(await succeed([python, '-c', script])).trim()}`, python };
}

/**
 * The environment of tinker-cookbook's recipes, in just that version. 0.6.1 asks for a newer tml-renderers than PyPI
 * has, which only models of Thinking Machines use: the newest there is takes its place.
 */
export async function openRecipes(
  version: string,
  onInstall: (what: string) => void,
): Promise<PythonEnvironment> {
  const root = path.join(readEnvironment().cacheFolder, LAYOUT);
  const torch = path.join(root, 'torch');
  await make({ folder: torch, packages: ['torch', 'numpy'], onInstall });
  const folder = path.join(root, `recipes-${version}`);
  const cookbook = `tinker-cookbook==${version}`;
  await make({ folder, packages: [cookbook], sees: torch, relaxes: 'tml-renderers', onInstall });
  return { name: `tinker-cookbook ${version}`, python: pythonOf(folder) };
}

/** The environment of an example of ours, with what its requirements name. */
export async function openExample(
  requirements: string,
  onInstall: (what: string) => void,
): Promise<PythonEnvironment> {
  const wanted = await readFile(requirements, 'utf8');
  const digest = hash('sha256', wanted, 'hex').slice(0, 12);
  const folder = path.join(readEnvironment().cacheFolder, LAYOUT, `example-${digest}`);
  const packages = wanted.split('\n').filter((line) => line !== '');
  await make({ folder, packages, onInstall });
  return { name: packages[0]?.replace('==', ' ') ?? 'python', python: pythonOf(folder) };
}

interface EnvironmentPlan {
  readonly folder: string;
  readonly packages: readonly string[];
  /** An environment whose packages this one sees behind its own. */
  readonly sees?: string;
  /** A requirement of which any version will do. */
  readonly relaxes?: string;
  readonly onInstall: (what: string) => void;
}

/** Suites that need the same one make it together. */
const underWay = new Map<string, Promise<void>>();

function make(plan: EnvironmentPlan): Promise<void> {
  const known = underWay.get(plan.folder);
  if (known) return known;
  const making = makeAlone(plan).finally(() => underWay.delete(plan.folder));
  underWay.set(plan.folder, making);
  return making;
}

async function makeAlone({ folder, packages, sees, relaxes, onInstall }: EnvironmentPlan): Promise<void> {
  const mark = path.join(folder, '.complete');
  if (existsSync(mark)) return;
  onInstall(packages.join(' '));
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.dirname(folder), { recursive: true });
  await succeed(['python3', '-m', 'venv', folder]);
  if (sees !== undefined)
    await writeFile(path.join(await packagesOf(folder), 'shared.pth'), `${await packagesOf(sees)}\n`);
  const pip = [pythonOf(folder), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  if (relaxes === undefined) await succeed([...pip, ...packages]);
  else await installRelaxed(pip, { folder, packages, relaxes });
  await writeFile(mark, '');
}

/** pip knows no other way round a requirement: the packages alone, then what they ask for. */
async function installRelaxed(
  pip: readonly string[],
  { folder, packages, relaxes }: Required<Pick<EnvironmentPlan, 'folder' | 'packages' | 'relaxes'>>,
): Promise<void> {
  await succeed([...pip, '--no-deps', ...packages]);
  const asked = await succeed([pythonOf(folder), '-c', REQUIREMENTS, relaxes, ...EXTRAS, ...packages]);
  await succeed([...pip, ...asked.trim().split('\n')]);
}

async function succeed(words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(words, { timeoutMs: INSTALL_TIMEOUT_MS });
  if (code === 0) return stdout;
  throw new Error(`${words.join(' ')} ended with ${String(code)}:\n${stderr}`);
}

async function packagesOf(folder: string): Promise<string> {
  const script = 'import sysconfig; print(sysconfig.get_path("purelib"))';
  return (await succeed([pythonOf(folder), '-c', script])).trim();
}

function pythonOf(folder: string): string {
  return path.join(folder, 'bin/python');
}

async function newestVersion(root: string, name: string): Promise<string> {
  const answer = await runProgram(['python3', '-m', 'pip', 'index', 'versions', name], {
    timeoutMs: 60_000,
  });
  const newest = /\(([\d.]+)\)/.exec(answer.stdout)?.[1];
  if (answer.code === 0 && newest !== undefined) return newest;
  const kept = existsSync(root) ? await readdir(root) : [];
  const versions = kept
    .filter((entry) => entry.startsWith(`${name}-`))
    .map((entry) => entry.slice(name.length + 1));
  const latest = versions.sort((one, other) => one.localeCompare(other, 'en', { numeric: true })).at(-1);
  if (latest !== undefined) return latest;
  throw new Error(`PyPI does not say which version of ${name} is the newest:\n${answer.stderr}`);
}
