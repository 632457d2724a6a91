import { LiteralError } from './literal-error';

const BRACKETS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const QUOTES = ['"', "'", '`'];
/** Types in angle brackets, as behind the name of a class. */
const TYPE_ARGUMENTS = /<[\w\s,.?<>[\]]*>/y;
/** Of brackets in brackets. */
const MOST_DEPTH = 100;

/** A piece of Java or JavaScript: something in quotes, in brackets, or one character. */
export interface SourcePiece {
  readonly kind: 'quoted' | 'bracketed' | 'character';
  readonly text: string;
}

/** Cuts source text into pieces whose inside does not matter. */
export function piecesOf(source: string): readonly SourcePiece[] {
  const pieces: SourcePiece[] = [];
  for (let position = 0; position < source.length;) {
    const piece = pieceAt(source, position);
    pieces.push(piece);
    position += piece.text.length;
  }
  return pieces;
}

/** Parts between commas that are in no brackets and quotes, without blanks around them. */
export function splitAtCommas(source: string): readonly string[] {
  const parts: string[] = [''];
  for (const { kind, text } of piecesOf(source)) {
    if (kind === 'character' && text === ',') parts.push('');
    else parts.push((parts.pop() ?? '') + text);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** Without blanks, except those in quotes. */
export function withoutBlanks(source: string): string {
  return piecesOf(source)
    .map(({ kind, text }) => {
      if (kind === 'quoted') return text;
      if (kind === 'bracketed')
        return (text[0] ?? '') + withoutBlanks(text.slice(1, -1)) + (text.at(-1) ?? '');
      return text.trim();
    })
    .join('');
}

/** The text in brackets that begins at `start`, brackets included. */
export function bracketedAt(source: string, start: number, depth = 1): string {
  if (depth > MOST_DEPTH) throw new LiteralError('too deep');
  const close = BRACKETS[source[start] ?? ''];
  for (let position = start + 1; position < source.length;) {
    if (source[position] === close) return source.slice(start, position + 1);
    position += pieceAt(source, position, depth + 1).text.length;
  }
  throw new LiteralError('brackets that are not closed');
}

function pieceAt(source: string, position: number, depth = 1): SourcePiece {
  const character = source[position] ?? '';
  if (QUOTES.includes(character)) return { kind: 'quoted', text: quotedAt(source, position) };
  if (character in BRACKETS) return { kind: 'bracketed', text: bracketedAt(source, position, depth) };
  if (Object.values(BRACKETS).includes(character)) throw new LiteralError('a bracket too many');
  TYPE_ARGUMENTS.lastIndex = position;
  const types = /\w/.test(source[position - 1] ?? '') ? TYPE_ARGUMENTS.exec(source)?.[0] : undefined;
  return types === undefined ? { kind: 'character', text: character } : { kind: 'bracketed', text: types };
}

function quotedAt(source: string, start: number): string {
  const quote = source[start];
  for (let position = start + 1; position < source.length; position++) {
    if (source[position] === '\\') position++;
    else if (source[position] === quote) return source.slice(start, position + 1);
  }
  throw new LiteralError('a text without end');
}
