const FUTURE = /^from[ \t]+__future__[ \t]+import[ \t]+(?:\([^()]*\)|[^\n\\]*)[ \t]*\n?/gm;

/** A Python program put together of parts, its imports of `__future__` before all others, where they have to stand. */
export function withFutureFirst(program: string): string {
  const imports = program.match(FUTURE);
  if (imports === null) return program;
  return [...imports.map((line) => line.trim()), program.replace(FUTURE, '')].join('\n');
}
