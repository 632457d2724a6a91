const MOST_CHARACTERS = 10_000;

/** What an error says, also one thrown by a plug-in in a realm with an `Error` of its own, or one that cannot be asked. */
export function messageOf(error: unknown): string {
  const text = textOf(error);
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}

/** Read of an error by those who sort it. */
const ASKED = ['name', 'message', 'code', 'cause', 'stack'];

/**
 * What was thrown, where it can be asked what it is; else an error that says that it cannot be shown. A plug-in may throw anything,
 * and `instanceof` alone would throw again whatever its traps do.
 */
export function askableError(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  try {
    void (error instanceof Error);
    for (const key of ASKED) Reflect.get(error, key);
    return error;
  } catch {
    const told = new Error(messageOf(error));
    // Where this one was made is not where the other was thrown.
    told.stack = String(told);
    return told;
  }
}

function textOf(error: unknown): string {
  try {
    const isSpoken = typeof error === 'object' && error !== null && 'message' in error;
    return isSpoken && typeof error.message === 'string' ? error.message : String(error);
  } catch {
    return 'an error that cannot be shown';
  }
}
