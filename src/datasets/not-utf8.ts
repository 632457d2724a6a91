import { DomainError } from '../core/errors';

export function notUtf8(name: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name} is not UTF-8 text. Convert it, for example with iconv -t UTF-8.`,
  );
}
