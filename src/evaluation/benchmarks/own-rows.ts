import { inspect } from 'node:util';
import { DomainError } from '../../core/errors';
import { escapeControls } from '../../core/escape-controls';
import { askableError, messageOf } from '../error-message';
import type { Row } from '../graders/row-grader';

const MOST_SHOWN = 80;

/**
 * The rows that a declaration's code makes. It may be a plug-in's: what it throws says neither whose it is nor that trying it again is
 * of no use. `where` names the benchmark, and the file where there is one.
 */
export function ownRows(where: string, make: () => unknown): readonly Row[] {
  const made = whatIsMade(where, make);
  if (isRows(made)) return made;
  throw new DomainError(
    'bad-plugin',
    `${where}: data.rows must return an array of rows, not ${shown(made)}.${isPromise(made) ? ' It must not be async.' : ''}`,
  );
}

function whatIsMade(where: string, make: () => unknown): unknown {
  try {
    const made = make();
    // A generator runs when it is read.
    return isIterable(made) ? [...made] : made;
  } catch (thrown) {
    const error = askableError(thrown);
    const code = error instanceof DomainError ? error.code : 'bad-plugin';
    const reason = escapeControls(messageOf(error));
    throw new DomainError(code, `${where}: data.rows threw: ${reason}`, { cause: error });
  }
}

function isIterable(made: unknown): made is Iterable<unknown> {
  return typeof made === 'object' && made !== null && Symbol.iterator in made && !Array.isArray(made);
}

function isRows(made: unknown): made is readonly Row[] {
  return Array.isArray(made);
}

function isPromise(made: unknown): boolean {
  return typeof made === 'object' && made !== null && 'then' in made;
}

function shown(made: unknown): string {
  return escapeControls(
    inspect(made, { depth: 0, breakLength: Infinity, customInspect: false }).slice(0, MOST_SHOWN),
  );
}
