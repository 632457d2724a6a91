import { existsSync } from 'node:fs';
import path from 'node:path';
import { readEnvironmentRecord } from './python-environment';

/** The program `inspect` as a person calls it: the one beside the interpreter that was set up, else whichever is on the path. */
export async function inspectProgram(cacheFolder: string): Promise<string> {
  const environment = await readEnvironmentRecord(cacheFolder);
  const program = environment && path.join(path.dirname(environment.python), 'inspect');
  return program !== null && existsSync(program) ? program : 'inspect';
}
