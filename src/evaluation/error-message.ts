const MOST_CHARACTERS = 10_000;

/** What an error says, also one thrown by a plug-in in a realm with an `Error` of its own, or one that cannot be asked. */
export function messageOf(error: unknown): string {
  const text = textOf(error);
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}

function textOf(error: unknown): string {
  try {
    const isSpoken = typeof error === 'object' && error !== null && 'message' in error;
    return isSpoken && typeof error.message === 'string' ? error.message : String(error);
  } catch {
    return 'an error that cannot be shown';
  }
}
