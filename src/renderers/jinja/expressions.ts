import type { ArgumentReader } from './arguments';
import { NO_ARGUMENTS, readArguments } from './arguments';
import { findFilter } from './filters';
import { readDict, readList } from './collections';
import { attributeOf, itemOf, sliceOf } from './members';
import { chained, makeItems, wholeOf } from './made-values';
import { BINARY, COMPARISONS, negate, positive } from './operators';
import { textOf } from './python-text';
import { constant, LITERALS } from './literals';
import type { Expression } from './scope';
import { TemplateError } from './template-error';
import { findTest } from './tests';
import type { TokenReader } from './token-reader';
import { Callable, isTrue, Tuple, typeName } from './values';
import type { Value } from './values';

const COMPARISON = new Set(['==', '!=', '<', '<=', '>', '>=']);
/** Words that end an argument without parentheses: `x is divisibleby 3 or y`. */
const AFTER_TEST = new Set(['else', 'or', 'and', 'is', 'in', 'not', 'if']);

/** Reads expressions with the precedence of Jinja's own parser. */
export class ExpressionParser {
  constructor(private readonly tokens: TokenReader) {}

  /** `a, b` is a tuple. */
  tuple(read: () => Expression = () => this.expression()): Expression {
    const first = read();
    if (!this.tokens.is(',')) return first;
    const items = [first];
    while (this.tokens.skip(',')) {
      if (this.endsTuple()) break;
      items.push(read());
    }
    return (scope) => {
      makeItems(items.length);
      return Tuple.from(items, (item) => item(scope));
    };
  }

  expression(): Expression {
    let value = this.or();
    while (this.tokens.skip('if')) {
      const [chosen, test] = [value, this.or()];
      const other = this.tokens.skip('else') ? this.expression() : () => undefined;
      value = (scope) => (isTrue(test(scope)) ? chosen(scope) : other(scope));
    }
    return value;
  }

  /** What stands before a loop's `if`. */
  or(): Expression {
    let left = this.and();
    while (this.tokens.skip('or')) {
      const [first, second] = [left, this.and()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? value : second(scope);
      };
    }
    return left;
  }

  /** `| filter(…)` and more, upon a value. */
  filters(operand: Expression): Expression {
    let value = operand;
    for (;;) {
      if (this.tokens.skip('|')) value = this.filter(value);
      else if (this.tokens.skip('is')) value = this.test(value);
      else if (this.tokens.is('(')) value = this.call(value);
      else return value;
    }
  }

  filter(operand: Expression): Expression {
    const name = this.tokens.dottedName();
    const read = this.tokens.is('(') ? this.arguments() : () => NO_ARGUMENTS;
    return (scope) => {
      const { positional, keywords } = read(scope);
      const value = wholeOf(operand(scope));
      return findFilter(name)(value, positional, keywords);
    };
  }

  /** A name and what follows it by dots, before its call. */
  callee(): Expression {
    let value = this.variable(this.tokens.name());
    while (this.tokens.skip('.')) value = this.attribute(value);
    return value;
  }

  arguments(): ArgumentReader {
    return readArguments(this.tokens, () => this.expression());
  }

  private endsTuple(): boolean {
    return this.tokens.isAtClose() || [')', 'in', '='].some((text) => this.tokens.is(text));
  }

  private and(): Expression {
    let left = this.not();
    while (this.tokens.skip('and')) {
      const [first, second] = [left, this.not()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? second(scope) : value;
      };
    }
    return left;
  }

  private not(): Expression {
    if (!this.tokens.skip('not')) return this.comparison();
    const value = this.not();
    return (scope) => !isTrue(value(scope));
  }

  /** `a < b < c` is `a < b and b < c`. */
  private comparison(): Expression {
    const first = this.sum();
    const steps: { holds: (left: Value, right: Value) => boolean; value: Expression }[] = [];
    for (let word = this.comparisonWord(); word !== null; word = this.comparisonWord()) {
      steps.push({ holds: COMPARISONS.get(word) ?? (() => false), value: this.sum() });
    }
    if (steps.length === 0) return first;
    return (scope) => {
      let left = wholeOf(first(scope));
      return steps.every(({ holds, value }) => {
        const right = wholeOf(value(scope));
        const isHeld = holds(left, right);
        left = right;
        return isHeld;
      });
    };
  }

  private comparisonWord(): string | null {
    const token = this.tokens.peek();
    if (token?.type === 'operator' && COMPARISON.has(token.text)) return this.tokens.next().text;
    if (this.tokens.skip('in')) return 'in';
    if (!this.tokens.is('not') || !this.tokens.is('in', 1)) return null;
    this.tokens.next();
    this.tokens.next();
    return 'not in';
  }

  private sum(): Expression {
    return this.binary(['+', '-'], () => this.concatenation());
  }

  private concatenation(): Expression {
    const parts = [this.product()];
    while (this.tokens.skip('~')) parts.push(this.product());
    const [only] = parts;
    if (only && parts.length === 1) return only;
    return (scope) => chained(parts.map((part) => textOf(part(scope))));
  }

  private product(): Expression {
    return this.binary(['*', '/', '//', '%'], () => this.binary(['**'], () => this.unary(true)));
  }

  private binary(operators: readonly string[], read: () => Expression): Expression {
    let left = read();
    for (;;) {
      const found = operators.find((one) => this.tokens.skip(one));
      const operate = found === undefined ? null : BINARY.get(found);
      if (!operate) return left;
      const [first, second] = [left, read()];
      left = (scope) => operate(first(scope), second(scope));
    }
  }

  private unary(hasFilters: boolean): Expression {
    const sign = ['-', '+'].find((one) => this.tokens.skip(one));
    const value = sign === undefined ? this.primary() : this.signed(sign);
    const whole = this.postfix(value);
    return hasFilters ? this.filters(whole) : whole;
  }

  private signed(sign: string): Expression {
    const value = this.unary(false);
    return sign === '-' ? (scope) => negate(value(scope)) : (scope) => positive(value(scope));
  }

  private primary(): Expression {
    const token = this.tokens.next();
    switch (token.type) {
      case 'name':
        return this.variable(token.text);
      case 'string':
        return this.string(token.text);
      case 'integer':
        return constant(BigInt(token.text.replaceAll('_', '')));
      case 'float':
        return constant(Number(token.text.replaceAll('_', '')));
      default:
        return this.bracketed(token.text);
    }
  }

  private variable(name: string): Expression {
    if (LITERALS.has(name)) return constant(LITERALS.get(name));
    return (scope) => scope.get(name);
  }

  /** Texts side by side are one. */
  private string(first: string): Expression {
    let text = first;
    while (this.tokens.peek()?.type === 'string') text += this.tokens.next().text;
    return constant(text);
  }

  private bracketed(opening: string): Expression {
    if (opening === '[') return readList(this.tokens, () => this.expression());
    if (opening === '{') return readDict(this.tokens, () => this.expression());
    if (opening !== '(') throw this.tokens.problem(`unexpected "${opening}"`);
    if (this.tokens.skip(')')) return () => new Tuple();
    const value = this.tuple();
    this.tokens.expect(')');
    return value;
  }

  private postfix(operand: Expression): Expression {
    let value = operand;
    for (;;) {
      if (this.tokens.skip('.')) value = this.attribute(value);
      else if (this.tokens.skip('[')) value = this.subscript(value);
      else if (this.tokens.is('(')) value = this.call(value);
      else return value;
    }
  }

  private attribute(holder: Expression): Expression {
    const token = this.tokens.next();
    if (token.type === 'integer') return (scope) => itemOf(holder(scope), BigInt(token.text));
    if (token.type !== 'name') throw this.tokens.problem('expected name or number after "."');
    return (scope) => attributeOf(wholeOf(holder(scope)), token.text);
  }

  private subscript(holder: Expression): Expression {
    const bounds: (Expression | null)[] = [null];
    let isSlice = false;
    while (!this.tokens.skip(']')) {
      if (this.tokens.skip(':')) {
        isSlice = true;
        bounds.push(null);
      } else bounds[bounds.length - 1] = this.tuple();
    }
    const [start, stop, step] = bounds.map((bound) => bound ?? (() => undefined));
    if (!isSlice) return (scope) => itemOf(wholeOf(holder(scope)), start?.(scope));
    return (scope) =>
      sliceOf(wholeOf(holder(scope)), { start: start?.(scope), stop: stop?.(scope), step: step?.(scope) });
  }

  private call(callee: Expression): Expression {
    const read = this.arguments();
    return (scope) => {
      const called = callee(scope);
      if (called instanceof Callable) {
        const { positional, keywords } = read(scope);
        return called.call(positional, keywords);
      }
      if (called === undefined) throw new TemplateError('an undefined value is called');
      throw new TemplateError(`'${typeName(called)}' object is not callable`);
    };
  }

  private test(operand: Expression): Expression {
    const isNegated = this.tokens.skip('not');
    const name = this.tokens.dottedName();
    const read = this.testArguments();
    return (scope) => findTest(name)(wholeOf(operand(scope)), read(scope).positional) !== isNegated;
  }

  private testArguments(): ArgumentReader {
    if (this.tokens.is('(')) return this.arguments();
    const token = this.tokens.peek();
    const begins =
      token && (['string', 'integer', 'float'].includes(token.type) || /^[[{]$/.test(token.text));
    if (!begins && (token?.type !== 'name' || AFTER_TEST.has(token.text))) return () => NO_ARGUMENTS;
    const value = this.postfix(this.primary());
    return (scope) => ({ positional: [value(scope)], keywords: NO_ARGUMENTS.keywords });
  }
}
