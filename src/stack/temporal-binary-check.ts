import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

export type ProgramCheck =
  { readonly version: string } | { readonly reason: string; readonly missing: boolean };

/** Runs `FILE --version`: a damaged or foreign program of that name is not a Temporal CLI. */
export async function checkProgram(file: string): Promise<ProgramCheck> {
  if (!isExecutable(file)) return { reason: 'no such program, or it may not be run', missing: true };
  return new Promise((resolve) => {
    execFile(file, ['--version'], { timeout: 20_000, encoding: 'utf8' }, (error, stdout) => {
      const version = /temporal version .*\((Server [\d.]+)/.exec(stdout)?.[1];
      if (error === null && version !== undefined) resolve({ version });
      else if (error !== null)
        resolve({ reason: error.message.trim().split('\n')[0] ?? 'it fails', missing: false });
      else resolve({ reason: 'it does not call itself a Temporal CLI with a server', missing: false });
    });
  });
}

export function findOnPath(program: string, searchPath: string): string | null {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  for (const folder of searchPath.split(path.delimiter).filter(Boolean)) {
    for (const ending of endings) {
      const file = path.join(folder, program + ending);
      if (isExecutable(file)) return file;
    }
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
