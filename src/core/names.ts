import { DomainError } from './errors';
import { escapeControls } from './escape-controls';

const RUN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const MOST_SHOWN = 120;

/** Checks a name that becomes a path or a workflow id. Refuses anything that could leave its folder. */
export function validateName(kind: string, name: unknown): string {
  if (isValidName(name)) return name;
  throw new DomainError(
    'bad-config',
    `${kind} ${shown(name)} is not a valid name. Use 1 to 100 letters, digits, ".", "_" or "-", beginning with a letter or digit, without "..".`,
  );
}

export function isValidName(name: unknown): name is string {
  return typeof name === 'string' && RUN_NAME.test(name) && !name.includes('..');
}

/** Plain JavaScript may give anything for a name, and whoever reads the message sees what it was. */
function shown(name: unknown): string {
  if (typeof name === 'string') return `"${escapeControls(name.slice(0, MOST_SHOWN))}"`;
  if (name === undefined || typeof name === 'number') return String(name);
  if (typeof name !== 'object') return `of type ${typeof name}`;
  try {
    return escapeControls(JSON.stringify(name).slice(0, MOST_SHOWN));
  } catch {
    return 'of type object';
  }
}
