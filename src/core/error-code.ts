/**
 * The code of a failure of the operating system, of Node or of ours, e.g. `ENOENT`; empty where it has none.
 *
 * Not by `instanceof Error`: Node's own errors may come from another realm than this module's, and a plug-in's are of its own class.
 */
export function errorCodeOf(error: unknown): string {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : '';
}

/** Whether a failure carries one of these codes. */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  const code = errorCodeOf(error);
  return code !== '' && codes.includes(code);
}
