/** Parses an option of commander that may be given several times. */
export function repeated(value: string, previous: readonly string[] | undefined): string[] {
  return [...(previous ?? []), value];
}
