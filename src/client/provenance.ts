import { execFile } from 'node:child_process';
import os from 'node:os';
import { EVERSTEP_VERSION } from '../core/version';
import type { RunProvenance } from '../workflows/contracts';

const GIT_LIMIT_MS = 2000;
/** A diff travels through workflow history once; what is longer is cut, and says so. */
const DIFF_LIMIT = 64_000;
const GIT_OUTPUT_BYTES = 50_000_000;

/** Who starts a run, from what code and by which command. `folder` decides whose git revision it is. */
export async function collectProvenance(command: readonly string[], folder: string): Promise<RunProvenance> {
  return {
    everstepVersion: EVERSTEP_VERSION,
    codeRevision: await git(folder, ['rev-parse', 'HEAD']),
    codeDiff: shorten(await git(folder, ['diff', 'HEAD', '--no-color', '--no-ext-diff'])),
    startedBy: currentUser(),
    command: [...command],
  };
}

/** Who does something, for the record. */
export function currentUser(): string {
  return `${userName()}@${os.hostname()}`;
}

/** Null outside a git checkout, and where there is nothing to say. */
async function git(folder: string, words: readonly string[]): Promise<string | null> {
  const options = { timeout: GIT_LIMIT_MS, maxBuffer: GIT_OUTPUT_BYTES };
  return new Promise((resolve) => {
    execFile('git', ['-C', folder, ...words], options, (error, stdout) => {
      resolve(error ? null : stdout.trim() || null);
    });
  });
}

function shorten(diff: string | null): string | null {
  if (diff === null || diff.length <= DIFF_LIMIT) return diff;
  return `${diff.slice(0, DIFF_LIMIT)}\n[cut here: the diff has ${diff.length} characters]\n`;
}

/** The user's id has no name in some containers. */
function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return 'unknown';
  }
}
