/** Whether the lists and objects that are in it, itself included, have more entries than that in all. Looks at no more of them. */
export function hasMoreEntriesThan(value: object, most: number): boolean {
  const waiting = [value];
  let count = 0;
  for (let item = waiting.pop(); item; item = waiting.pop()) {
    const entries: readonly unknown[] = Array.isArray(item) ? item : Object.values(item);
    count += entries.length;
    if (count > most) return true;
    for (const entry of entries) if (typeof entry === 'object' && entry !== null) waiting.push(entry);
  }
  return false;
}
