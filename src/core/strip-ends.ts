/**
 * Texts without what stands at their ends. An expression such as `/0+$/` takes time that grows with the square of a run that does not
 * end the text; these take as long as what they remove.
 */

/** Characters to strip, or what tells them. */
export type Stripped = string | ((character: string) => boolean);

export function stripEnd(text: string, stripped: Stripped): string {
  const isStripped = testOf(stripped);
  let end = text.length;
  while (end > 0) {
    const character = characterBefore(text, end);
    if (!isStripped(character)) break;
    end -= character.length;
  }
  return text.slice(0, end);
}

export function stripStart(text: string, stripped: Stripped): string {
  const isStripped = testOf(stripped);
  let start = 0;
  for (const character of text) {
    if (!isStripped(character)) break;
    start += character.length;
  }
  return text.slice(start);
}

/** The same at both ends. */
export function stripEnds(text: string, stripped: Stripped): string {
  return stripStart(stripEnd(text, stripped), stripped);
}

/** What is to stand in a sentence: without full stops and white space at its end. */
export function withoutFullStop(text: string): string {
  return stripEnd(text, (character) => character === '.' || /\s/.test(character));
}

function testOf(stripped: Stripped): (character: string) => boolean {
  if (typeof stripped !== 'string') return stripped;
  const set = new Set(stripped);
  return (character) => set.has(character);
}

/** Two code units where they are a surrogate pair. */
function characterBefore(text: string, end: number): string {
  const pair = text.slice(Math.max(0, end - 2), end);
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : text.slice(end - 1, end);
}
