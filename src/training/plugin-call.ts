import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import { askableError } from '../evaluation/error-message';
import { messageWithPlace } from '../evaluation/thrown-at';

/** `subject` is what failed, as a person calls it: `loss "mine"`. */
export interface PluginPart {
  readonly subject: string;
  readonly file: string | null;
}

/** What a plug-in could not reach may be there again later; all else that it throws, it throws again. */
const PASSING = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
];
const FULL = ['EMFILE', 'ENFILE', 'ENOSPC', 'EDQUOT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'];

/** Calls a function of a plug-in. What it throws ends the run, and says whose it is. */
export function callPlugin<Result>(part: PluginPart, call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    throw pluginFailure(part, error);
  }
}

export async function awaitPlugin<Result>(part: PluginPart, call: () => Result): Promise<Awaited<Result>> {
  try {
    return await call();
  } catch (error) {
    throw pluginFailure(part, error);
  }
}

/** The failure of a plug-in's part, as the run ends by it. */
export function pluginFailure({ subject, file }: PluginPart, thrown: unknown): unknown {
  const error = askableError(thrown);
  if (error instanceof DomainError) return error;
  const cause: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'cause') : undefined;
  const retryable = [error, cause].some((each) => hasErrorCode(each, ...PASSING, ...FULL));
  return new DomainError(
    'bad-plugin',
    `plug-in ${subject} of ${file ?? 'the worker'} failed: ${asSentence(messageWithPlace(error))} Repair it there.`,
    { retryable, cause: error },
  );
}
