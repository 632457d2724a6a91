import { hasErrorCode } from '../core/error-code';

/** What was to be written for a person could not be, where the person said: a file of an option, or standard output. */
export class OutputError extends Error {
  constructor(
    /** E.g. `--output x.yaml`. */
    readonly place: string,
    /** Where else it could go, as the end of a sentence. */
    readonly elsewhere: string,
    cause: unknown,
  ) {
    super(`${place} cannot be written`, { cause });
  }
}

/** Only writing fails so. */
const OF_WRITING = ['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG'];

/** The same error, or what it says of the place that an option names. */
function asOutputError(error: unknown, option: string, place: string): unknown {
  const failure = error instanceof Error && hasErrorCode(error.cause, ...OF_WRITING) ? error.cause : error;
  if (!hasErrorCode(failure, ...OF_WRITING)) return error;
  return new OutputError(`${option} ${place}`, `give another place with ${option}`, failure);
}

/** Work that writes what an option names, and reads besides. */
export async function writingTo<Result>(
  option: string,
  place: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asOutputError(error, option, place);
  }
}
