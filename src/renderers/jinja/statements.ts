import { ExpressionParser } from './expressions';
import { loopOver } from './loop';
import { macroOf } from './macro';
import type { Parameter } from './macro';
import { textOf } from './python-text';
import { Scope } from './scope';
import type { Expression } from './scope';
import { literal, sequence } from './statement';
import type { Outcome, Statement } from './statement';
import { TemplateError } from './template-error';
import { TextWriter } from './text-writer';
import type { TokenReader } from './token-reader';
import { Callable, isTrue, itemsOf, Namespace } from './values';
import type { Value } from './values';

/** Puts a value where `set` and `for` name one. */
type Assignment = (scope: Scope, value: Value) => void;

/** Reads the statements of a template as functions that write them. */
export class StatementParser {
  private readonly expressions: ExpressionParser;

  constructor(private readonly tokens: TokenReader) {
    this.expressions = new ExpressionParser(tokens);
  }

  template(): Statement {
    const body = this.body([]);
    if (this.tokens.peek()) throw this.tokens.problem('unexpected end of a block');
    return body;
  }

  /** Up to one of some words, which is not read. */
  private body(ends: readonly string[]): Statement {
    const statements: Statement[] = [];
    while (!this.isAtEnd(ends)) {
      const token = this.tokens.next();
      if (token.type === 'text') statements.push(literal(token.text));
      else statements.push(token.text === '{{' ? this.output() : this.statement());
    }
    return sequence(statements);
  }

  private isAtEnd(ends: readonly string[]): boolean {
    const token = this.tokens.peek();
    if (token)
      return token.text === '{%' && token.type === 'open' && ends.some((end) => this.tokens.is(end, 1));
    if (ends.length === 0) return true;
    throw this.tokens.problem(`expected "${ends.join('" or "')}"`);
  }

  private output(): Statement {
    const value = this.expressions.tuple();
    this.tokens.close();
    return (scope, out) => {
      out.add(textOf(value(scope)));
      return 'done';
    };
  }

  private statement(): Statement {
    const word = this.tokens.name();
    const read = this.readers[word];
    if (!read) throw this.tokens.problem(`unknown tag "${word}"`);
    return read();
  }

  private readonly readers: Readonly<Record<string, (() => Statement) | undefined>> = {
    if: () => this.condition(),
    for: () => this.loop(),
    set: () => this.assignment(),
    macro: () => this.macro(),
    call: () => this.callBlock(),
    filter: () => this.filterBlock(),
    with: () => this.withBlock(),
    generation: () => this.generation(),
    break: () => this.jump('break'),
    continue: () => this.jump('continue'),
  };

  private jump(outcome: Outcome): Statement {
    this.tokens.close();
    return () => outcome;
  }

  private condition(): Statement {
    const branches: { test: Expression; body: Statement }[] = [];
    let other: Statement = () => 'done';
    for (let word = 'if'; word !== 'endif'; word = this.blockWord()) {
      const test = word === 'else' ? null : this.expressions.tuple();
      this.tokens.close();
      const body = this.body(['elif', 'else', 'endif']);
      if (test) branches.push({ test, body });
      else other = body;
    }
    this.tokens.close();
    return (scope, out) => {
      const branch = branches.find(({ test }) => isTrue(test(scope)));
      return (branch?.body ?? other)(scope, out);
    };
  }

  /** The word of the block's next tag, which `body` stopped before. */
  private blockWord(): string {
    this.tokens.next();
    return this.tokens.name();
  }

  private loop(): Statement {
    const assign = this.target();
    this.tokens.expect('in');
    const items = this.expressions.tuple(() => this.expressions.or());
    const test = this.tokens.skip('if') ? this.expressions.expression() : null;
    const isRecursive = this.tokens.skip('recursive');
    this.tokens.close();
    const body = this.body(['else', 'endfor']);
    const hasOther = this.blockWord() === 'else';
    let other: Statement = () => 'done';
    if (hasOther) {
      this.tokens.close();
      other = this.body(['endfor']);
      this.blockWord();
    }
    this.tokens.close();
    return loopOver({ items, assign, test, isRecursive, body, other });
  }

  /** A name, names in a row, or a field of a namespace. */
  private target(): Assignment {
    const targets = [this.oneTarget()];
    let isTuple = false;
    while (this.tokens.skip(',')) {
      isTuple = true;
      if (this.tokens.is('in') || this.tokens.is(')') || this.tokens.is('=')) break;
      targets.push(this.oneTarget());
    }
    const [only] = targets;
    if (only && !isTuple) return only;
    return (scope, value) => {
      const items = itemsOf(value);
      if (items.length !== targets.length) {
        throw new TemplateError(`${targets.length} values are expected here, and there are ${items.length}`);
      }
      targets.forEach((assign, index) => {
        assign(scope, items[index]);
      });
    };
  }

  private oneTarget(): Assignment {
    if (!this.tokens.skip('(')) return this.namedTarget();
    const target = this.target();
    this.tokens.expect(')');
    return target;
  }

  private namedTarget(): Assignment {
    const name = this.tokens.name();
    if (!this.tokens.skip('.')) {
      return (scope, value) => {
        scope.set(name, value);
      };
    }
    const field = this.tokens.name();
    return (scope, value) => {
      const holder = scope.get(name);
      if (!(holder instanceof Namespace)) {
        throw new TemplateError('cannot assign attribute on non-namespace object');
      }
      holder.fields.set(field, value);
    };
  }

  private assignment(): Statement {
    const assign = this.target();
    if (this.tokens.skip('=')) {
      const value = this.expressions.tuple();
      this.tokens.close();
      return (scope) => {
        assign(scope, value(scope));
        return 'done';
      };
    }
    const text = this.block('endset', (body) => this.filtered(body));
    return (scope) => {
      assign(scope, text(scope));
      return 'done';
    };
  }

  /** The words of a block, through the filters of its tag. */
  private filtered(operand: Expression): Expression {
    return this.tokens.skip('|') ? this.expressions.filters(this.expressions.filter(operand)) : operand;
  }

  private block(end: string, wrap: (text: Expression) => Expression): Expression {
    let body: Statement = () => 'done';
    const value = wrap((scope) => {
      const out = new TextWriter();
      body(new Scope(scope), out);
      return out.text();
    });
    this.tokens.close();
    body = this.body([end]);
    this.endBlock();
    return value;
  }

  private endBlock(): void {
    this.blockWord();
    if (!this.tokens.isAtClose()) this.tokens.name();
    this.tokens.close();
  }

  private filterBlock(): Statement {
    const value = this.block('endfilter', (text) => this.expressions.filters(this.expressions.filter(text)));
    return (scope, out) => {
      out.add(textOf(value(scope)));
      return 'done';
    };
  }

  private generation(): Statement {
    this.tokens.close();
    const body = this.body(['endgeneration']);
    this.endBlock();
    return body;
  }

  private withBlock(): Statement {
    const values: { name: string; value: Expression }[] = [];
    while (!this.tokens.isAtClose()) {
      if (values.length > 0) this.tokens.expect(',');
      const name = this.tokens.name();
      this.tokens.expect('=');
      values.push({ name, value: this.expressions.expression() });
    }
    this.tokens.close();
    const body = this.body(['endwith']);
    this.endBlock();
    return (scope, out) => {
      const inner = new Scope(scope);
      for (const { name, value } of values) inner.set(name, value(scope));
      return body(inner, out);
    };
  }

  private macro(): Statement {
    const name = this.tokens.name();
    const parameters = this.parameters();
    this.tokens.close();
    const body = this.body(['endmacro']);
    this.endBlock();
    return (scope) => {
      scope.set(name, macroOf({ name, parameters, body, scope }));
      return 'done';
    };
  }

  private parameters(): Parameter[] {
    const parameters: Parameter[] = [];
    this.tokens.expect('(');
    while (!this.tokens.skip(')')) {
      if (parameters.length > 0) this.tokens.expect(',');
      const name = this.tokens.name();
      const fallback = this.tokens.skip('=') ? this.expressions.expression() : null;
      parameters.push({ name, fallback });
    }
    return parameters;
  }

  private callBlock(): Statement {
    const parameters = this.tokens.is('(') ? this.parameters() : [];
    const macro = this.expressions.callee();
    const read = this.expressions.arguments();
    this.tokens.close();
    const body = this.body(['endcall']);
    this.endBlock();
    return (scope, out) => {
      const called = macro(scope);
      if (!(called instanceof Callable)) throw new TemplateError('"call" needs a macro');
      const { positional, keywords } = read(scope);
      const caller = macroOf({ name: 'caller', parameters, body, scope });
      out.add(textOf(called.call(positional, new Map([...keywords, ['caller', caller]]))));
      return 'done';
    };
  }
}
