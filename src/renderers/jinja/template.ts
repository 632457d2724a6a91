import { tokenize } from './lexer';
import { countingMade } from './made-values';
import { Scope } from './scope';
import { StatementParser } from './statements';
import { TextWriter } from './text-writer';
import { TokenReader } from './token-reader';
import type { Value } from './values';

/** A template of Jinja, as Python's Jinja with transformers' settings writes it. */
export class JinjaTemplate {
  private readonly body: ReturnType<StatementParser['template']>;

  /** Refuses what is no template, with the line. */
  constructor(source: string) {
    this.body = new StatementParser(new TokenReader(source, tokenize(source))).template();
  }

  render(globals: Readonly<Record<string, Value>>): string {
    const scope = new Scope();
    for (const [name, value] of Object.entries(globals)) scope.set(name, value);
    return countingMade(() => {
      const out = new TextWriter();
      this.body(new Scope(scope), out);
      return out.text();
    });
  }
}
