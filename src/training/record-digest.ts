import { createHash } from 'node:crypto';
import { DomainError } from '../core/errors';
import { shellWord } from '../core/shell-word';

interface Digested {
  readonly digest?: string;
}

/** With a digest of everything else in it, by which an edit of the file it is written to shows. */
export function withDigest<Config extends object>(record: Config): Config & Digested {
  return { ...record, digest: digestOf(record) };
}

/** What a release before digests wrote has none, and is believed; so is what somebody took it out of. */
export function isEdited(record: Digested): boolean {
  return record.digest !== undefined && record.digest !== digestOf(record);
}

/** Half a run by one config and half by another would be neither's. `changes` says what differs, where that is known. */
export function editedRecord(run: string, path: string, changes: readonly string[] = []): DomainError {
  const what = changes.length === 0 ? '' : `: ${changes.join(', ')}`;
  return new DomainError(
    'record-changed',
    `Run "${run}" was prepared by another ${path} than is there now; it was edited${what}. ` +
      `Put it back as it was, and go on with: everstep train --run ${shellWord(run)} --continue. ` +
      'Other values are for a run of their own that starts at its last checkpoint (initialCheckpoint); where they are meant for this one all the same, take "digest" out of the file.',
  );
}

function digestOf(record: object): string {
  const content = { ...record, digest: undefined };
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
}
