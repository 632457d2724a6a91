import { isStrongToken, readTokenFile } from '../config/token-file';
import { DomainError } from '../core/errors';

export interface TokenChoice {
  readonly host: string;
  /** `--token-file`. */
  readonly file: string | undefined;
  /** EVERSTEP_SERVE_TOKEN. */
  readonly variable: string | null;
}

/** The token clients have to show; null where none was given and only this machine can ask. */
export function chooseToken({ host, file, variable }: TokenChoice): string | null {
  const token = file === undefined ? variable : readTokenFile(file);
  if (token === null && isLoopback(host)) return null;
  if (token === null) {
    throw new DomainError(
      'bad-config',
      `--host ${host}: others can reach that, so a token is needed. Set EVERSTEP_SERVE_TOKEN, or give --token-file FILE; \`openssl rand -hex 32\` makes one.`,
    );
  }
  if (isStrongToken(token)) return token;
  throw new DomainError(
    'bad-config',
    `The token of this server has to be 16 or more letters, digits or signs without spaces. \`openssl rand -hex 32\` makes one.`,
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
