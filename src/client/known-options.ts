import { DomainError } from '../core/errors';
import { nearestKey } from '../core/nearest-key';

/** The options a call knows: all of its type, and nothing else. */
export type Known<Options> = Readonly<Record<keyof Options, true>>;

/** Refuses options that a call does not know: TypeScript sees them, a program in JavaScript would go on without what was asked for. */
export function requireKnownOptions<Options extends object>(
  call: string,
  options: Options,
  known: Known<Options>,
): void {
  const names = Object.keys(known);
  const unknown = Object.keys(options).find((key) => !names.includes(key));
  if (unknown === undefined) return;
  const nearest = nearestKey(unknown, names);
  const instead = nearest ? `Did you mean "${nearest}"?` : `Known: ${names.join(', ')}.`;
  throw new DomainError('bad-config', `${call}: unknown option "${unknown}". ${instead}`);
}

/** Refuses a word that is none of those an option takes. */
export function requireOneOf(option: string, value: string | undefined, words: readonly string[]): void {
  if (value === undefined || words.includes(value)) return;
  const nearest = nearestKey(value, words);
  const instead = nearest ? `Did you mean "${nearest}"?` : `Use one of ${words.join(', ')}.`;
  throw new DomainError('bad-config', `${option}: "${value}" is not known. ${instead}`);
}
