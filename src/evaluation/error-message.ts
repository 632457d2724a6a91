/** What an error says, also one thrown by a plug-in in a realm with an `Error` of its own. */
export function messageOf(error: unknown): string {
  const isSpoken = typeof error === 'object' && error !== null && 'message' in error;
  return isSpoken && typeof error.message === 'string' ? error.message : String(error);
}
