import { readFileSync } from 'node:fs';
import { DomainError } from '../core/errors';

const SHORTEST = 16;

/** What a file given as `--token-file` holds, without the space around it. */
export function readTokenFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new DomainError(
      'bad-config',
      `--token-file ${file} cannot be read. Give a file that holds the token.`,
      { cause: error },
    );
  }
}

/** Whether a token can be sent in a header and is long enough that nobody guesses it. */
export function isStrongToken(token: string): boolean {
  return token.length >= SHORTEST && /^[\x21-\x7e]+$/.test(token);
}
