import { DomainError } from './errors';

const RUN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Checks a name that becomes a path or a workflow id. Refuses anything that could leave its folder. */
export function validateName(kind: string, name: string): string {
  if (isValidName(name)) return name;
  throw new DomainError(
    'bad-config',
    `${kind} "${name.slice(0, 120)}" is not a valid name. Use 1 to 100 letters, digits, ".", "_" or "-", beginning with a letter or digit, without "..".`,
  );
}

export function isValidName(name: string): boolean {
  return RUN_NAME.test(name) && !name.includes('..');
}
