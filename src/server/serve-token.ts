import { readFileSync } from 'node:fs';
import { DomainError } from '../core/errors';
import { hasErrorCode } from '../stores/system-errors';

const SHORTEST = 16;

export interface TokenChoice {
  readonly host: string;
  /** `--token-file`. */
  readonly file: string | undefined;
  /** EVERSTEP_SERVE_TOKEN. */
  readonly variable: string | null;
}

/** The token clients have to show; null where none was given and only this machine can ask. */
export function chooseToken({ host, file, variable }: TokenChoice): string | null {
  const token = file === undefined ? variable : readToken(file);
  if (token === null && isLoopback(host)) return null;
  if (token === null) {
    throw new DomainError(
      'bad-config',
      `--host ${host}: others can reach that, so a token is needed. Set EVERSTEP_SERVE_TOKEN, or give --token-file FILE; \`openssl rand -hex 32\` makes one.`,
    );
  }
  if (token.length >= SHORTEST && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new DomainError(
    'bad-config',
    `The token of this server has to be ${SHORTEST} or more letters, digits or signs without spaces. \`openssl rand -hex 32\` makes one.`,
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT', 'EISDIR', 'EACCES')) throw error;
    throw new DomainError(
      'bad-config',
      `--token-file ${file} cannot be read. Give a file that holds the token.`,
    );
  }
}
