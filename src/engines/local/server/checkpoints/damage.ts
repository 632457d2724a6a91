import { errorCodeOf, hasErrorCode } from '../../../../core/error-code';
import { DomainError } from '../../../../core/errors';
import type { CheckpointAddress } from './checkpoint-path';
import { formatCheckpointPath } from './checkpoint-path';

const DAMAGE: Readonly<Partial<Record<string, string>>> = {
  ENOENT: 'the file is gone',
  EIO: 'the disk cannot read it',
};

/** What cannot be read as it was saved fails by name and for good, so that a run goes on from something older. */
export async function namingDamage<Value>(what: string, read: Promise<Value>): Promise<Value> {
  try {
    return await read;
  } catch (error) {
    const reason = damageOf(error);
    if (reason === null) throw error;
    throw new DomainError('request-failed', `${what} is damaged: ${reason}. Use an earlier checkpoint.`, {
      category: 'user',
      cause: error,
    });
  }
}

/** null for what has nothing to do with the file, such as a lack of memory. */
function damageOf(error: unknown): string | null {
  if (error instanceof DomainError) return error.message.replace(/\.$/, '');
  return DAMAGE[errorCodeOf(error)] ?? null;
}

/** Nothing lies there. */
export function isMissing(error: unknown): boolean {
  return hasErrorCode(error, 'ENOENT');
}

export function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

export function ignoreExisting(error: unknown): void {
  if (!hasErrorCode(error, 'EEXIST')) throw error;
}

/** Of an address that has no checkpoint, or a stranger's. */
export function notFound(address: CheckpointAddress, stranger: string | undefined): DomainError {
  const why =
    stranger === undefined
      ? 'It was never saved, was deleted, has expired, or its meta.json is damaged.'
      : `Its folder holds another one, by its meta.json ${JSON.stringify(stranger)}: put back the folder that was there.`;
  const message = `Checkpoint not found: ${formatCheckpointPath(address)}. ${why}`;
  return new DomainError('checkpoint-missing', message, { category: 'user' });
}
