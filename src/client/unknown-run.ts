import { DomainError } from '../core/errors';
import type { RunRecords } from './run-records';

const LISTED = 20;

/** Refuses a run that nobody knows, with the names of those there are. */
export async function unknownRun(name: string, records: Pick<RunRecords, 'listRuns'>): Promise<DomainError> {
  const known = (await records.listRuns()).map(({ run }) => run);
  return new DomainError('unknown-run', `Unknown run "${name}". ${listKnown(known)}`);
}

function listKnown(known: readonly string[]): string {
  if (known.length === 0) return 'The store has no runs yet.';
  const shown = known.slice(0, LISTED).join(', ');
  return `Known: ${shown}${known.length > LISTED ? ` and ${known.length - LISTED} more` : ''}.`;
}
