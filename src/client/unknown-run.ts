import { DomainError } from '../core/errors';
import { isValidName } from '../core/names';
import type { UnreadableState } from '../stores/run-state';
import type { RunRecords } from './run-records';

const LISTED = 20;

/** Refuses a run that nobody knows, with the names of those there are, or why what the store has of it is of no use. */
export async function unknownRun(
  name: string,
  records: Pick<RunRecords, 'findUnreadable' | 'listRuns'>,
): Promise<DomainError> {
  const unreadable = isValidName(name) ? await records.findUnreadable(name) : null;
  if (unreadable !== null) return new DomainError('unknown-run', unreadableText(unreadable));
  const known = (await records.listRuns()).map(({ run }) => run);
  return new DomainError('unknown-run', `Unknown run "${name}". ${listKnown(known)}`);
}

/** What a person is told of a run whose state cannot be read. */
export function unreadableText({ run, file, reason }: UnreadableState): string {
  return `Run "${run}": its state cannot be read: ${reason} (${file}). Put a copy of the file back, or take the run's folder away.`;
}

function listKnown(known: readonly string[]): string {
  if (known.length === 0) return 'The store has no runs yet.';
  const shown = known.slice(0, LISTED).join(', ');
  return `Known: ${shown}${known.length > LISTED ? ` and ${known.length - LISTED} more` : ''}.`;
}
