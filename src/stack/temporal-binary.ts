import path from 'node:path';
import { DomainError } from '../core/errors';
import { buildWithGo, downloadWithSdk } from './temporal-binary-sources';
import { checkProgram, findOnPath } from './temporal-binary-check';

const TEMPORAL_CLI_VERSION = '1.5.1';

type TemporalBinarySource = 'EVERSTEP_TEMPORAL_CLI' | 'PATH' | 'cache' | 'SDK download' | 'go install';

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
  /** Told the way chosen, and why a way did not work and which is next. */
  readonly onProgress: (line: string) => void;
}

const REASON_LIMIT = 180;

/** Where downloads and builds end up. */
export function cachedBinaryPath(cacheFolder: string): string {
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
  return path.join(cacheFolder, `temporal-${TEMPORAL_CLI_VERSION}`, name);
}

/** A Temporal CLI that is on this machine and runs, without fetching anything; null when there is none. */
export async function findTemporalBinary(lookup: BinaryLookup): Promise<TemporalBinary | null> {
  if (lookup.explicit !== null) return explicitBinary(lookup.explicit);
  const onPath = findOnPath('temporal', lookup.searchPath);
  const candidates = [
    ...(onPath === null ? [] : [{ path: onPath, source: 'PATH' } as const]),
    { path: cachedBinaryPath(lookup.cacheFolder), source: 'cache' } as const,
  ];
  for (const candidate of candidates) {
    const check = await checkProgram(candidate.path);
    if ('version' in check) return { ...candidate, version: check.version };
    if (!check.missing)
      lookup.onProgress(`Temporal CLI at ${candidate.path} cannot be used: ${check.reason}.`);
  }
  return null;
}

/**
 * The Temporal CLI to run a server with: found here, else downloaded, else built into the cache.
 * The way chosen is reported, and each failure names the next one.
 */
export async function obtainTemporalBinary(lookup: BinaryLookup): Promise<TemporalBinary> {
  const found = await findTemporalBinary(lookup);
  if (found !== null) return found;
  const target = cachedBinaryPath(lookup.cacheFolder);
  const failures: string[] = [];
  for (const { source, obtain } of WAYS) {
    try {
      await obtain(target, lookup.onProgress);
      const check = await checkProgram(target);
      if ('version' in check) return { path: target, source, version: check.version };
      failures.push(`${source}: ${check.reason}`);
    } catch (error) {
      failures.push(`${source}: ${error instanceof Error ? inShort(error.message) : String(error)}`);
    }
    const next = WAYS[failures.length]?.source;
    lookup.onProgress(
      `Temporal CLI by ${failures.at(-1) ?? source}.${next === undefined ? '' : ` Next: ${next}.`}`,
    );
  }
  throw new DomainError(
    'temporal-unavailable',
    `No Temporal server: no \`temporal\` on PATH nor at ${target}; ${failures.join('; ')}. ` +
      'Choose one: set TEMPORAL_ADDRESS to a server you have; install the Temporal CLI (https://docs.temporal.io/cli) on PATH; ' +
      'set EVERSTEP_TEMPORAL_CLI to its path; or install Go, with which everstep builds it.',
  );
}

const WAYS = [
  { source: 'SDK download', obtain: downloadWithSdk },
  { source: 'go install', obtain: buildWithGo },
] as const;

async function explicitBinary(file: string): Promise<TemporalBinary> {
  const check = await checkProgram(file);
  if ('version' in check) return { path: file, source: 'EVERSTEP_TEMPORAL_CLI', version: check.version };
  throw new DomainError(
    'bad-config',
    `EVERSTEP_TEMPORAL_CLI is ${file}, which cannot be used: ${check.reason}. Correct it or unset it.`,
  );
}

/** Enough of a reason to go by; native errors repeat themselves at length. */
function inShort(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  return line.length <= REASON_LIMIT ? line : `${line.slice(0, REASON_LIMIT)}…`;
}
