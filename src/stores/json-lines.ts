import { readWholeFile } from './reading';

/** Rows of a JSONL file; none when it does not exist. A torn last line, or any line that is not an object, is passed over. */
export async function readJsonLines<Row extends object>(path: string): Promise<Row[]> {
  const text = (await readWholeFile(path)) ?? '';
  return text.split('\n').flatMap((line) => parseJsonObject<Row>(line) ?? []);
}

/** null when the text is not an object. */
// The caller names the type of what the store wrote there.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function parseJsonObject<Value extends object>(text: string): Value | null {
  try {
    const value: unknown = JSON.parse(text);
    // The store's files are written by its own writers alone, from values of this type.
    // oxlint-disable-next-line typescript/consistent-type-assertions
    return isRecord(value) ? (value as Value) : null;
  } catch {
    return null;
  }
}

/** An object that is no list. */
export function isRecord<Value>(value: Value): value is Value & object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
