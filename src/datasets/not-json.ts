/**
 * A value of a table that JSON has no word for: a date, a time, bytes. A field that says nothing to a model may hold it; who
 * reads the field refuses it by name.
 */
export class NotJson {
  /** With its article: "a date". */
  readonly what: string;

  constructor(what: string) {
    this.what = what;
  }
}

/** Where in a value, and what; null where JSON can say all of it. */
export function notJsonIn(value: unknown): { readonly path: string; readonly what: string } | null {
  if (value instanceof NotJson) return { path: '', what: value.what };
  if (typeof value === 'number' && !Number.isFinite(value)) return { path: '', what: String(value) };
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const found = notJsonIn(item);
    if (found)
      return { path: `${Array.isArray(value) ? `[${key}]` : `.${key}`}${found.path}`, what: found.what };
  }
  return null;
}
