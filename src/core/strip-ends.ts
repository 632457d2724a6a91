/**
 * The text without those of the characters that it ends in. An expression such as `/0+$/` takes time that grows with the square of a run
 * of them which does not end the text.
 */
export function stripEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The same at both ends. */
export function stripEnds(text: string, characters: string): string {
  const stripped = stripEnd(text, characters);
  let start = 0;
  while (start < stripped.length && characters.includes(stripped.charAt(start))) start++;
  return stripped.slice(start);
}
