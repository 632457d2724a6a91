/**
 * SkyRL from PyPI with its JAX backend, without a GPU, in a Python environment made on first use and kept:
 *
 *     <cache>/skyrl-1/venv/        1.3 GB; a folder without `.complete` was left half-made and is made again
 *     <cache>/skyrl-1/compiled/    what JAX compiled, so that a later start is sooner ready
 */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readEnvironment } from '../../../src/config/environment';
import { runProgram } from '../processes';

export interface SkyrlEnvironment {
  /** Package and version, e.g. `skyrl 0.3.0`. */
  readonly name: string;
  readonly python: string;
  readonly compiledFolder: string;
  /** A checkout of SkyRL that is served instead of the release. */
  readonly checkout: string | null;
}

export interface SkyrlChoice {
  readonly checkout?: string | undefined;
  readonly onInstall: (what: string) => void;
}

const SKYRL_VERSION = '0.3.0';
/** Raised when what is inside the environment changes. */
const LAYOUT = 'skyrl-1';
const PYTHONS = ['python3.12', 'python3.11', 'python3'];
/** What SkyRL's JAX backend and its API need; its own extras would bring PyTorch for CUDA. */
const PACKAGES = [
  'jax[cpu]==0.10.2',
  'flax==0.12.8',
  'optax==0.2.8',
  'transformers==5.8.0',
  'fastapi',
  'uvicorn',
  'sqlmodel',
  'sqlalchemy[asyncio]',
  'aiosqlite',
  'datasets>=4',
  'pillow',
  'rich',
  'safetensors',
  'tokenizers',
  'typer',
  'cloudpathlib',
  'psutil',
  'httpx',
  // Newer than the release: checkouts need them.
  'tinker==0.24.1',
  'zstandard',
  'xxhash',
];
const INSTALL_TIMEOUT_MS = 30 * 60_000;

/** The environment, or why there is none. */
export async function openSkyrl({
  checkout,
  onInstall,
}: SkyrlChoice): Promise<SkyrlEnvironment | { readonly missing: string }> {
  const root = path.join(readEnvironment().cacheFolder, LAYOUT);
  const venv = path.join(root, 'venv');
  const python = path.join(venv, 'bin/python');
  const mark = path.join(venv, '.complete');
  if (!existsSync(mark)) {
    const base = await findPython();
    if (base === null) return { missing: 'Python 3.11 or 3.12 with venv is needed' };
    onInstall(`skyrl ${SKYRL_VERSION} and JAX`);
    await rm(venv, { recursive: true, force: true });
    await mkdir(root, { recursive: true });
    await succeed([base, '-m', 'venv', venv]);
    await succeed([python, '-m', 'pip', 'install', '--quiet', ...PACKAGES]);
    await succeed([python, '-m', 'pip', 'install', '--quiet', '--no-deps', `skyrl==${SKYRL_VERSION}`]);
    await writeFile(mark, '');
  }
  return {
    name: checkout === undefined ? `skyrl ${SKYRL_VERSION}` : `skyrl in ${path.basename(checkout)}`,
    python,
    compiledFolder: path.join(root, 'compiled'),
    checkout: checkout === undefined ? null : path.resolve(checkout),
  };
}

/** Writes a tiny Qwen3 model with random weights; the same one every time. */
export async function makeModel({ python }: SkyrlEnvironment, folder: string): Promise<void> {
  await succeed([python, path.join(__dirname, 'python/make_model.py'), folder]);
}

async function findPython(): Promise<string | null> {
  const script = 'import sys, venv; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 12) else 1)';
  for (const command of PYTHONS) {
    const tried = await runProgram([command, '-c', script]).catch(() => null);
    if (tried?.code === 0) return command;
  }
  return null;
}

async function succeed(words: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runProgram(words, { timeoutMs: INSTALL_TIMEOUT_MS });
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${String(code)}:\n${stdout}${stderr}`);
}
