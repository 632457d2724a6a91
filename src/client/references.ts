import path from 'node:path';

/** Deeper than any config or description of ours; somebody else's file may be of any depth. */
const MOST_DEPTH = 100;

/** Place of the first text in a document that is a reference, e.g. `config.initialCheckpoint`; null where there is none. */
export function placeOfReference(
  value: object,
  isReference: (text: string, key: string) => boolean,
  place: readonly string[] = [],
): string | null {
  if (place.length >= MOST_DEPTH) return null;
  for (const [key, inner] of Object.entries<unknown>({ ...value })) {
    const at = [...place, key];
    if (typeof inner === 'string' && isReference(inner, key)) return at.join('.');
    const found =
      typeof inner === 'object' && inner !== null ? placeOfReference(inner, isReference, at) : null;
    if (found !== null) return found;
  }
  return null;
}

/** Whether a text is the path of the folder, or of something in it. */
export function isPathWithin(folder: string, text: string): boolean {
  const rest = path.relative(path.resolve(folder), text);
  return path.isAbsolute(text) && rest.split(path.sep)[0] !== '..';
}

/** Models of a training service that a text names, whether by their checkpoints or by themselves: `<session>:train:<number>`. */
export function modelsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/[A-Za-z0-9-]{1,200}:train:\d{1,12}/g) ?? []);
}
