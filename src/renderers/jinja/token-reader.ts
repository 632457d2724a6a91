import type { Token } from './lexer';
import { problemAt } from './lexer';
import type { TemplateError } from './template-error';

/** The tokens of a template one after another. */
export class TokenReader {
  private position = 0;

  constructor(
    private readonly source: string,
    private readonly tokens: readonly Token[],
  ) {}

  peek(ahead = 0): Token | null {
    return this.tokens[this.position + ahead] ?? null;
  }

  next(): Token {
    const token = this.peek();
    if (!token) throw this.problem('unexpected end of template');
    this.position++;
    return token;
  }

  is(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token?.text === text && (token.type === 'operator' || token.type === 'name');
  }

  skip(text: string): boolean {
    if (!this.is(text)) return false;
    this.position++;
    return true;
  }

  expect(text: string): void {
    if (!this.skip(text)) throw this.problem(`expected "${text}", got "${this.peek()?.text ?? 'the end'}"`);
  }

  name(): string {
    const token = this.next();
    if (token.type === 'name') return token.text;
    throw this.problem(`expected a name, got "${token.text}"`);
  }

  /** Of a test or a filter: `a.b`. */
  dottedName(): string {
    let name = this.name();
    while (this.skip('.')) name += `.${this.name()}`;
    return name;
  }

  close(): void {
    const token = this.next();
    if (token.type !== 'close') throw this.problem(`expected the end of the tag, got "${token.text}"`);
  }

  isAtClose(): boolean {
    return this.peek()?.type === 'close';
  }

  problem(message: string): TemplateError {
    return problemAt(this.source, this.peek()?.at ?? this.source.length, message);
  }
}
