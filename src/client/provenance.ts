import { execFile } from 'node:child_process';
import os from 'node:os';
import { childVariables } from '../config/environment';
import { EVERSTEP_VERSION } from '../core/version';
import { redactSecrets, secretsOf } from './redact-secrets';
import type { RunProvenance } from '../workflows/contracts';

const GIT_LIMIT_MS = 2000;
/** A diff travels through workflow history once; what is longer is cut, and says so. */
const DIFF_LIMIT = 64_000;
/** A key that begins before the cut is seen whole. */
const LONGEST_KEY = 8000;
const GIT_OUTPUT_BYTES = 50_000_000;

/** Who starts a run, from what code and by which command. `folder` decides whose git revision it is. */
export async function collectProvenance(command: readonly string[], folder: string): Promise<RunProvenance> {
  const known = secretsOf(childVariables({}));
  const diff = await git(folder, ['diff', 'HEAD', '--no-color', '--no-ext-diff', '--no-textconv']);
  const shown = diff === null ? null : await redactSecrets(diff.slice(0, DIFF_LIMIT + LONGEST_KEY), known);
  const words = await Promise.all(command.map((word) => redactSecrets(word, known)));
  return {
    everstepVersion: EVERSTEP_VERSION,
    codeRevision: await git(folder, ['rev-parse', 'HEAD']),
    codeDiff: diff === null || shown === null ? null : shortened(shown.text, diff.length),
    startedBy: currentUser(),
    command: words.map(({ text }) => text),
    ...(shown && shown.count > 0 && { remarks: [keysRemark(shown.count)] }),
  };
}

function keysRemark(count: number): string {
  const what = count === 1 ? 'one key or password' : `${count} keys and passwords`;
  return `code.diff: ${what} in the changes of the checkout replaced. Keep them in environment variables, and change those that were committed.`;
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

function shortened(diff: string, length: number): string {
  if (length <= DIFF_LIMIT) return diff;
  return `${diff.slice(0, DIFF_LIMIT)}\n[cut here: the diff has ${length} characters]\n`;
}

/** The user's id has no name in some containers. */
function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return 'unknown';
  }
}
