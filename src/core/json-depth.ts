/**
 * How deep lists and objects may lie in one another: digests, JSON text and prompt formats are made by recursion, and schemas and
 * calls that people write are far below it.
 */
export const DEEPEST_JSON = 100;

export const TOO_DEEP = `lists and objects lie more than ${DEEPEST_JSON} deep in one another. Flatten it.`;

/** Trees of programs and documents are below it, and readers of rows, who go down by recursion, get there. */
export const DEEPEST_ROW = 500;

/** Walks no deeper than it is asked to, so that any value can be asked about, one that holds itself too. */
export function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (depth === 0) return true;
  const entries: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  // Training data is millions of numbers, which other loops take four times as long for.
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index];
    if (typeof entry === 'object' && isDeeperThan(entry, depth - 1)) return true;
  }
  return false;
}

/** The same of JSON text; false for what is none. */
export function isDeepText(text: string): boolean {
  try {
    return isDeeperThan(JSON.parse(text), DEEPEST_JSON);
  } catch {
    return false;
  }
}
