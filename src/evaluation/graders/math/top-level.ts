/** One piece of a text between separators that stand outside all brackets, and the separator before it. */
export interface Piece {
  readonly text: string;
  readonly separator: string;
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Cuts a text at the separators that stand outside brackets, where `matchSeparator` gives the separator that begins at an index.
 * A square bracket may close a round one and the other way round, as in half-open intervals.
 */
export function splitTopLevel(
  text: string,
  matchSeparator: (text: string, index: number) => string | null,
): readonly Piece[] {
  const pieces: Piece[] = [];
  let depth = 0;
  let start = 0;
  let separator = '';
  let index = 0;
  while (index < text.length) {
    const found = depth === 0 ? matchSeparator(text, index) : null;
    if (found) {
      pieces.push({ text: text.slice(start, index).trim(), separator });
      separator = found;
      start = index + found.length;
    }
    depth += depthChange(text, index);
    index += found ? found.length : step(text, index);
  }
  pieces.push({ text: text.slice(start).trim(), separator });
  return pieces;
}

/** What stands in a text that one pair of brackets encloses as a whole, with the brackets; null otherwise. */
export function enclosed(text: string): { open: string; inside: string; close: string } | null {
  const open = /^(?:\\\{|\\langle(?![a-zA-Z])|[([{])/.exec(text)?.[0];
  if (open === undefined) return null;
  let depth = 0;
  for (let index = 0; index < text.length; index += step(text, index)) {
    depth += depthChange(text, index);
    if (depth <= 0) {
      const length = step(text, index);
      if (index + length < text.length) return null;
      return { open, inside: text.slice(open.length, index).trim(), close: text.slice(index) };
    }
  }
  return null;
}

/** Length of the token at an index: a command with its backslash, else one character. */
function step(text: string, index: number): number {
  if (text[index] !== '\\') return 1;
  const letters = /^[a-zA-Z]+/.exec(text.slice(index + 1, index + 40))?.[0].length ?? 0;
  return 1 + Math.max(letters, 1);
}

function depthChange(text: string, index: number): number {
  const token = text.slice(index, index + step(text, index));
  const bare = token.replace('\\', '');
  if (Object.hasOwn(CLOSING, bare) || bare === 'langle' || bare === 'begin') return 1;
  return Object.values(CLOSING).includes(bare) || bare === 'rangle' || bare === 'end' ? -1 : 0;
}
