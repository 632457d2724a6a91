import { DomainError } from '../core/errors';
import { isValidName } from '../core/names';
import { nearestKey } from '../core/nearest-key';
import { asSentence } from '../core/sentences';
import type { UnreadableState } from '../stores/run-state';
import type { RunRecords } from './run-records';
import type { ServerLink } from './server-link';

const LISTED = 20;

/** Refuses a run that nobody knows, with the names of those there are, or why what the store has of it is of no use. */
export async function unknownRun(
  name: string,
  records: Pick<RunRecords, 'findUnreadable' | 'listRuns'>,
): Promise<DomainError> {
  const unreadable = isValidName(name) ? await records.findUnreadable(name) : null;
  if (unreadable !== null) return new DomainError('unknown-run', unreadableText(unreadable));
  const known = (await records.listRuns()).map(({ run }) => run);
  return new DomainError(
    'unknown-run',
    `Unknown run "${name}".${meantText(name, known)} ${listKnown(known)}`,
  );
}

/** Refuses a checkpoint, `RUN@STEP`, of a run that the store does not have. */
export async function requireRunOf(
  checkpoint: string,
  records: Pick<RunRecords, 'exists' | 'findUnreadable' | 'listRuns'>,
  key: string,
): Promise<void> {
  const run = checkpoint.replace(/@[^@]*$/, '');
  if (isValidName(run) && (await records.exists(run))) return;
  const { code, message } = await unknownRun(run, records);
  throw new DomainError(code, `${key} ${checkpoint}: ${message}`);
}

function meantText(name: string, known: readonly string[]): string {
  const meant = nearestKey(name, known);
  return meant === undefined ? '' : ` Did you mean "${meant}"?`;
}

/** A server that is too busy to answer may well know it. */
export async function unheardRun(
  name: string,
  { link, records }: { readonly link: Pick<ServerLink, 'description'>; readonly records: RunRecords },
): Promise<DomainError> {
  const { message } = await unknownRun(name, records);
  if (!message.startsWith('Unknown run')) return new DomainError('unknown-run', message);
  return new DomainError(
    'unreachable',
    `Run "${name}" is not in the store, and the Temporal server ${link.description} does not answer whether it has it. Ask again once it does.`,
    { retryable: true },
  );
}

/** What a person is told of a run whose state cannot be read. */
export function unreadableText({ run, file, reason }: UnreadableState): string {
  return `Run "${run}": its state cannot be read (${file}): ${asSentence(reason)} Put a copy of the file back, or take the run's folder away.`;
}

function listKnown(known: readonly string[]): string {
  if (known.length === 0) return 'The store has no runs yet.';
  const shown = known.slice(0, LISTED).join(', ');
  return `Known: ${shown}${known.length > LISTED ? ` and ${known.length - LISTED} more` : ''}.`;
}
