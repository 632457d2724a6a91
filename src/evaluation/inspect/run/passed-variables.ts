import { DomainError } from '../../../core/errors';

/** Shorter ones are words that stand anywhere. */
const SHORTEST_SECRET = 6;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What a task is run with, and by whose loss it would not run. */
const OURS = /^(EVERSTEP_|PYTHONDONTWRITEBYTECODE$)/;

/** Names of variables that tasks are to get. Values are never written down: they are the worker's. */
export function checkVariableNames(names: readonly string[]): string[] {
  for (const name of names) {
    if (!NAME.test(name)) {
      const said = name.split('=', 1).join('');
      throw new DomainError(
        'bad-config',
        `--pass ${said.slice(0, 80)}: give the name of a variable alone. Its value is taken from the worker's environment when a task runs.`,
      );
    }
    if (OURS.test(name)) {
      throw new DomainError('bad-config', `--pass ${name}: Everstep sets it itself. Leave it out.`);
    }
  }
  return [...new Set(names)].sort();
}

/** A text in which no value of these variables stands, but for paths. */
export function withoutSecrets(text: string, variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables).reduce(
    (plain, [name, value]) => (value.length < SHORTEST_SECRET ? plain : plain.replaceAll(value, `[${name}]`)),
    text,
  );
}
