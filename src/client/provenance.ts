import { execFile } from 'node:child_process';
import os from 'node:os';
import { EVERSTEP_VERSION } from '../core/version';
import type { RunProvenance } from '../workflows/contracts';

const GIT_LIMIT_MS = 2000;

/** Who starts a run, from what code and by which command. `folder` decides whose git revision it is. */
export async function collectProvenance(command: readonly string[], folder: string): Promise<RunProvenance> {
  return {
    everstepVersion: EVERSTEP_VERSION,
    codeRevision: await gitRevision(folder),
    startedBy: `${userName()}@${os.hostname()}`,
    command: [...command],
  };
}

/** Null outside a git checkout. */
async function gitRevision(folder: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile('git', ['-C', folder, 'rev-parse', 'HEAD'], { timeout: GIT_LIMIT_MS }, (error, stdout) => {
      resolve(error ? null : stdout.trim() || null);
    });
  });
}

/** The user's id has no name in some containers. */
function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return 'unknown';
  }
}
