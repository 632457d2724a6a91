import { DomainError } from '../core/errors';
import { isStrongToken, readTokenFile } from './token-file';

/**
 * The key that clients of an engine have to show, from `--token-file`. The protocol's own clients take no key that does not begin with
 * `tml-`, so that it has to begin so.
 */
export function readEngineToken(file: string): string {
  const token = readTokenFile(file);
  if (isStrongToken(token) && token.startsWith('tml-')) return token;
  throw new DomainError(
    'bad-config',
    `--token-file ${file}: the key of an engine has to begin with tml-, as its clients demand, and be 16 or more letters, digits or signs. ` +
      `\`echo tml-$(openssl rand -hex 32) > ${file}\` makes one.`,
  );
}
