import { LiteralError } from './literal-error';

const SPACE = /(?:\s|#[^\n]*)*/y;

/** A place in a text of Python, and what stands there. Space and comments count for nothing before marks. */
export class TextCursor {
  position = 0;

  constructor(readonly text: string) {}

  get isAtEnd(): boolean {
    this.skipSpace();
    return this.position >= this.text.length;
  }

  skipSpace(): void {
    this.match(SPACE);
  }

  /** What a sticky pattern finds here, behind which the place then is. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.position += found.length;
    return found;
  }

  textFrom(start: number): string {
    return this.text.slice(start, this.position);
  }

  peeks(mark: string): boolean {
    this.skipSpace();
    return this.text.startsWith(mark, this.position);
  }

  takes(mark: string): boolean {
    const isThere = this.peeks(mark);
    if (isThere) this.position += mark.length;
    return isThere;
  }

  expect(mark: string): void {
    if (!this.takes(mark)) throw new LiteralError(`no "${mark}" at ${this.position}`);
  }
}
