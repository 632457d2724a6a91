import { makeCharacters, makeText, requireShort } from './made-values';

/** So many pieces are kept before they become one: a piece takes memory of its own. */
const MOST_PIECES = 4096;
/** What a piece of a text becomes is small, however it is rewritten. */
const LONGEST_SLICE = 65_536;

/** Writes a text piece by piece. Each is counted before it is part of the text, so that none becomes larger than a template may make. */
export class TextWriter {
  private written = '';
  private pieces: string[] = [];
  private pending = 0;

  add(piece: string): void {
    if (piece === '') return;
    this.pending += piece.length;
    requireShort(this.written.length + this.pending);
    this.pieces.push(piece);
    if (this.pieces.length >= MOST_PIECES) this.join();
  }

  text(): string {
    makeText(0);
    this.join();
    return this.written;
  }

  private join(): void {
    makeCharacters(this.pending);
    this.written += this.pieces.join('');
    this.pieces = [];
    this.pending = 0;
  }
}

/** Texts as one. */
export function joinedTexts(parts: Iterable<string>, between = ''): string {
  const out = new TextWriter();
  let isFirst = true;
  for (const part of parts) {
    if (!isFirst) out.add(between);
    isFirst = false;
    out.add(part);
  }
  return out.text();
}

/** With something else for all that is found. */
export function replacedEach(
  text: string,
  pattern: RegExp,
  write: (found: RegExpExecArray) => string,
): string {
  const out = new TextWriter();
  let position = 0;
  for (const found of text.matchAll(pattern)) {
    out.add(text.slice(position, found.index));
    out.add(write(found));
    position = found.index + found[0].length;
  }
  out.add(text.slice(position));
  return out.text();
}

/** Rewritten slice by slice, where each character becomes what it becomes for itself. */
export function addRewritten(out: TextWriter, text: string, rewrite: (slice: string) => string): void {
  for (let start = 0; start < text.length;) {
    const end = start + LONGEST_SLICE;
    const isBetweenHalves = /[\ud800-\udbff]/.test(text.charAt(end - 1));
    const next = isBetweenHalves ? end + 1 : end;
    out.add(rewrite(text.slice(start, next)));
    start = next;
  }
}

export function rewritten(text: string, rewrite: (slice: string) => string): string {
  const out = new TextWriter();
  addRewritten(out, text, rewrite);
  return out.text();
}
