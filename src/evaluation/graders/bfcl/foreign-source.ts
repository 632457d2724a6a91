import { LiteralError } from './literal-error';

const BRACKETS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const QUOTES = ['"', "'", '`'];
/** What stands in angle brackets behind the name of a class. */
const OF_TYPES = /[\w\s,.?<>[\]]/;
/** Of brackets in brackets. */
const MOST_DEPTH = 100;

/** A piece of Java or JavaScript: something in quotes, in brackets, or one character. */
export interface SourcePiece {
  readonly kind: 'quoted' | 'bracketed' | 'character';
  readonly text: string;
}

/** Cuts source text into pieces whose inside does not matter. */
export function piecesOf(source: string): readonly SourcePiece[] {
  const reader = new SourceReader(source);
  const pieces: SourcePiece[] = [];
  for (let position = 0; position < source.length;) {
    const piece = reader.pieceAt(position);
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
export function bracketedAt(source: string, start: number): string {
  return new SourceReader(source).bracketedAt(start);
}

class SourceReader {
  /** Of each position where types in angle brackets that stand there would end; -1 where none do. */
  private readonly typesEnd: Int32Array;

  constructor(private readonly source: string) {
    this.typesEnd = endsOfTypes(source);
  }

  pieceAt(position: number, depth = 1): SourcePiece {
    const character = this.source[position] ?? '';
    if (QUOTES.includes(character)) return { kind: 'quoted', text: this.quotedAt(position) };
    if (character in BRACKETS) return { kind: 'bracketed', text: this.bracketedAt(position, depth) };
    if (Object.values(BRACKETS).includes(character)) throw new LiteralError('a bracket too many');
    const types = this.typesAt(position);
    return types === null ? { kind: 'character', text: character } : { kind: 'bracketed', text: types };
  }

  bracketedAt(start: number, depth = 1): string {
    if (depth > MOST_DEPTH) throw new LiteralError('too deep');
    const close = BRACKETS[this.source[start] ?? ''];
    for (let position = start + 1; position < this.source.length;) {
      if (this.source[position] === close) return this.source.slice(start, position + 1);
      position += this.pieceAt(position, depth + 1).text.length;
    }
    throw new LiteralError('brackets that are not closed');
  }

  private typesAt(position: number): string | null {
    const end = this.typesEnd[position] ?? -1;
    const isType = this.source[position] === '<' && /\w/.test(this.source[position - 1] ?? '');
    return isType && end > position ? this.source.slice(position, end + 1) : null;
  }

  private quotedAt(start: number): string {
    const quote = this.source[start];
    for (let position = start + 1; position < this.source.length; position++) {
      if (this.source[position] === '\\') position++;
      else if (this.source[position] === quote) return this.source.slice(start, position + 1);
    }
    throw new LiteralError('a text without end');
  }
}

/** The last `>` that only words, commas and brackets of types stand before. */
function endsOfTypes(source: string): Int32Array {
  const ends = new Int32Array(source.length);
  let end = -1;
  for (let position = source.length - 1; position >= 0; position--) {
    const character = source.charAt(position);
    if (!OF_TYPES.test(character)) end = -1;
    else if (character === '>' && end < 0) end = position;
    ends[position] = end;
  }
  return ends;
}
