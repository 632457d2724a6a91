import { chmodSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../config/environment';
import { childVariables } from '../config/environment';
import { DomainError } from '../core/errors';
import type { Progress } from './progress';
import { goInstall, sdkDownload } from './temporal-binary-sources';
import type { BinarySource } from './temporal-binary-sources';
import { checkProgram } from './temporal-binary-check';
import { findOnPath } from './find-on-path';
import { progressInLock, waitForLock } from './wait-for-lock';

const TEMPORAL_CLI_VERSION = '1.5.1';

type TemporalBinarySource = 'EVERSTEP_TEMPORAL_CLI' | 'PATH' | 'cache' | BinarySource['name'];

export interface TemporalBinary {
  readonly path: string;
  readonly source: TemporalBinarySource;
  /** What the program says about itself, e.g. `Server 1.29.1`. */
  readonly version: string;
}

export interface BinaryLookup {
  /** EVERSTEP_TEMPORAL_CLI; when set, nothing else is tried. */
  readonly explicit: string | null;
  readonly cacheFolder: string;
  readonly searchPath: string;
  /** Shows the way chosen and how far it is, and why a way did not work and which is next. */
  readonly progress: Progress;
  /** Where to get one that is not here, in this order. */
  readonly sources?: readonly BinarySource[];
}

const REASON_LIMIT = 180;
const REASON_LINES = 10;

export function binaryLookup(environment: Environment, progress: Progress): BinaryLookup {
  return {
    explicit: environment.temporalCli,
    cacheFolder: environment.cacheFolder,
    searchPath: childVariables({})['PATH'] ?? '',
    progress,
  };
}

/** Where downloads and builds end up. */
export function cachedBinaryPath(cacheFolder: string): string {
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
  return path.join(cacheFolder, `temporal-${TEMPORAL_CLI_VERSION}`, name);
}

/** A Temporal CLI that is on this machine and runs, without fetching anything; null when there is none. */
export async function findTemporalBinary(
  lookup: BinaryLookup,
  signal?: AbortSignal,
): Promise<TemporalBinary | null> {
  if (lookup.explicit !== null) return explicitBinary(lookup.explicit, signal);
  const onPath = findOnPath('temporal', lookup.searchPath);
  const candidates = [
    ...(onPath === null ? [] : [{ path: onPath, source: 'PATH' } as const]),
    { path: cachedBinaryPath(lookup.cacheFolder), source: 'cache' } as const,
  ];
  for (const candidate of candidates) {
    const check = await checkProgram(candidate.path, signal);
    if ('version' in check) return { ...candidate, version: check.version };
    if (!check.missing)
      lookup.progress.note(`Temporal CLI at ${candidate.path} cannot be used: ${check.reason}.`);
  }
  return null;
}

/**
 * The Temporal CLI to run a server with: found here, else downloaded, else built into the cache.
 * The way chosen is reported, and each failure names the next one. One process fetches at a time; whoever waited for
 * it finds the program in place. One that is killed leaves nothing that the next does not remove.
 */
export async function obtainTemporalBinary(
  lookup: BinaryLookup,
  signal?: AbortSignal,
): Promise<TemporalBinary> {
  const found = await findTemporalBinary(lookup, signal);
  if (found !== null) return found;
  const target = cachedBinaryPath(lookup.cacheFolder);
  const lock = await waitForLock(path.join(path.dirname(target), 'fetch.lock'), {
    progress: lookup.progress,
    signal,
  });
  const release = (): void => {
    removeWork(path.dirname(target));
    lock.release();
  };
  process.once('exit', release);
  try {
    const check = await checkProgram(target, signal);
    if ('version' in check) return { path: target, source: 'cache', version: check.version };
    return await fetchInto(target, { ...lookup, progress: progressInLock(lock, lookup.progress) }, signal);
  } finally {
    process.removeListener('exit', release);
    release();
  }
}

async function fetchInto(
  target: string,
  { progress, sources = SOURCES }: BinaryLookup,
  signal: AbortSignal | undefined,
): Promise<TemporalBinary> {
  const failures: string[] = [];
  for (const source of sources) {
    const reason = await fetchFrom(source, target, { progress, signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      return error instanceof Error ? inShort(error.message) : String(error);
    });
    if (typeof reason !== 'string') return reason;
    failures.push(`${source.name}: ${reason}`);
    const next = sources[failures.length]?.name;
    progress.note(
      `Temporal CLI by ${failures.at(-1) ?? source.name}${next === undefined ? '' : `\nNext: ${next}.`}`,
    );
  }
  throw new DomainError(
    'temporal-unavailable',
    `No Temporal server: no \`temporal\` on PATH nor at ${target}.\n${failures.join('\n')}\n` +
      'Choose one: set TEMPORAL_ADDRESS to a server you have; install the Temporal CLI (https://docs.temporal.io/cli) on PATH; ' +
      'set EVERSTEP_TEMPORAL_CLI to its path; or install Go, with which everstep builds it.',
  );
}

const SOURCES = [sdkDownload, goInstall];

async function fetchFrom(
  source: BinarySource,
  target: string,
  options: Parameters<BinarySource['fetch']>[1],
): Promise<TemporalBinary | string> {
  const folder = path.dirname(target);
  removeWork(folder);
  const program = await source.fetch(mkdtempSync(path.join(folder, WORK_PREFIX)), options);
  chmodSync(program, 0o755);
  const check = await checkProgram(program, options.signal);
  if (!('version' in check)) return check.reason;
  renameSync(program, target);
  return { path: target, source: source.name, version: check.version };
}

const WORK_PREFIX = 'fetch-';

/** Only the holder of the lock comes here, so that what lies there is its own or of one that was killed. */
function removeWork(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(WORK_PREFIX))
      rmSync(path.join(folder, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

async function explicitBinary(file: string, signal?: AbortSignal): Promise<TemporalBinary> {
  const check = await checkProgram(file, signal);
  if ('version' in check) return { path: file, source: 'EVERSTEP_TEMPORAL_CLI', version: check.version };
  throw new DomainError(
    'bad-config',
    `EVERSTEP_TEMPORAL_CLI is ${file}, which cannot be used: ${check.reason}. Correct it or unset it.`,
  );
}

/** Enough of a reason to go by; native errors repeat themselves at length before they say what it was. */
function inShort(text: string): string {
  return text
    .trim()
    .split('\n')
    .slice(0, REASON_LINES)
    .map((line) =>
      line.length <= REASON_LIMIT
        ? line
        : `${line.slice(0, REASON_LIMIT / 2)}…${line.slice(-REASON_LIMIT / 2)}`,
    )
    .join('\n  ');
}
