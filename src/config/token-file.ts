import { statSync } from 'node:fs';
import { DomainError } from '../core/errors';
import { shellWord } from '../core/shell-word';
import { codeOf, readTokenText } from './named-file';

const SHORTEST = 16;

/** What a file or a pipe given as `--token-file` holds, without the space around it. */
export function readTokenFile(file: string): string {
  try {
    return readTokenText(file).trim();
  } catch (error) {
    throw new DomainError(
      'bad-config',
      `--token-file ${file} cannot be read (${reasonOf(error)}). Give a file that holds the token.`,
      { cause: error },
    );
  }
}

const OTHERS_MAY_READ = 0o004;

/** What is to be said of a token's file that every user of the machine can read; null where there is nothing. A pipe keeps nothing. */
export function tokenFileRemark(file: string): string | null {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats?.isFile() || (stats.mode & OTHERS_MAY_READ) === 0) return null;
  return `--token-file ${file}: every user of this machine can read it. \`chmod 600 ${shellWord(file)}\` leaves it to its owner.`;
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ENOENT') return 'no such file';
  if (code === 'ENXIO' || code === 'ENODEV') return 'it is a device or a socket';
  return error instanceof Error ? error.message : String(error);
}

/** Whether a token can be sent in a header and is long enough that nobody guesses it. */
export function isStrongToken(token: string): boolean {
  return token.length >= SHORTEST && /^[\x21-\x7e]+$/.test(token);
}
