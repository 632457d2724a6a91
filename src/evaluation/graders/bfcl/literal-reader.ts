import type { Term } from './arithmetic';
import { computed, lengthOf, literal, signed, unknownName } from './arithmetic';
import { LiteralError } from './literal-error';
import type { FunctionCall, PythonValue } from './python-value';
import { TextCursor } from './text-cursor';
import { readTexts } from './text-literals';

const WHOLE = /0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+/y;
const NUMBER = /(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?/y;
const SUM = /[+-]/y;
const PRODUCT = /\/\/|\*(?!\*)|[/%]/y;
const POWER = /\*\*/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*(?:\s*\.\s*[\p{L}_][\p{L}\p{N}_]*)*/uy;
const CONSTANTS: Readonly<Record<string, PythonValue>> = {
  True: { type: 'bool', value: true },
  False: { type: 'bool', value: false },
  None: { type: 'none' },
};
const JSON_CONSTANTS: Readonly<Record<string, PythonValue>> = {
  ...CONSTANTS,
  true: { type: 'bool', value: true },
  false: { type: 'bool', value: false },
  null: { type: 'none' },
};
const MOST_DEPTH = 100;
/** Items and characters of all texts and lists that are put together or repeated. */
const MOST_MADE = 100_000;

/**
 * Reads Python literals and calls as the official checker resolves them, and JSON, which is nearly the same: there `true` is no
 * text, and a dict written as a call does not occur.
 */
export class LiteralReader {
  private readonly cursor: TextCursor;
  private depth = 0;
  private made = 0;

  constructor(
    text: string,
    private readonly language: 'python' | 'json' = 'python',
  ) {
    this.cursor = new TextCursor(text);
  }

  get isAtEnd(): boolean {
    return this.cursor.isAtEnd;
  }

  /** `[f(a=1), g.h(b="x")]`. Arguments without a name are left out. */
  calls(): FunctionCall[] {
    const calls: FunctionCall[] = [];
    this.cursor.expect('[');
    while (!this.cursor.peeks(']')) {
      calls.push(this.call());
      if (!this.cursor.takes(',')) break;
    }
    this.cursor.expect(']');
    return calls;
  }

  value(): PythonValue {
    if (++this.depth > MOST_DEPTH) throw new LiteralError('too deep');
    let term = this.product();
    for (let mark = this.operator(SUM); mark !== undefined; mark = this.operator(SUM))
      term = this.computed(mark, term, this.product());
    this.depth -= 1;
    return term.resolved();
  }

  private product(): Term {
    let term = this.factor();
    for (let mark = this.operator(PRODUCT); mark !== undefined; mark = this.operator(PRODUCT))
      term = this.computed(mark, term, this.factor());
    return term;
  }

  private factor(): Term {
    const sign = this.operator(SUM);
    if (sign !== undefined) return this.signedFactor(sign);
    const term = this.atom();
    const mark = this.operator(POWER);
    if (mark === undefined) return term;
    if (++this.depth > MOST_DEPTH) throw new LiteralError('too deep');
    const power = this.computed(mark, term, this.factor());
    this.depth -= 1;
    return power;
  }

  private computed(mark: string, left: Term, right: Term): Term {
    const term = computed(mark, left, right);
    this.made += lengthOf(term.resolved());
    if (this.made > MOST_MADE) throw new LiteralError('too much put together');
    return term;
  }

  private signedFactor(sign: string): Term {
    if (++this.depth > MOST_DEPTH) throw new LiteralError('too deep');
    const term = signed(sign, this.factor());
    this.depth -= 1;
    return term;
  }

  private operator(pattern: RegExp): string | undefined {
    this.cursor.skipSpace();
    return this.cursor.match(pattern);
  }

  private atom(): Term {
    this.cursor.skipSpace();
    const value = this.text() ?? this.container() ?? this.number();
    return value === null ? this.named() : literal(value);
  }

  private call(): FunctionCall {
    const start = this.cursor.position;
    const isEnclosed = this.cursor.takes('(');
    this.cursor.skipSpace();
    const name = this.cursor.match(NAME)?.replaceAll(/\s/g, '');
    // `(f(a=1))` or `(f)(a=1)`
    if (isEnclosed && (name === undefined || !this.cursor.takes(')'))) {
      this.cursor.position = start;
      return this.enclosedCall();
    }
    if (name === undefined) throw new LiteralError('no call');
    this.cursor.expect('(');
    return { name, args: this.keywords() };
  }

  private enclosedCall(): FunctionCall {
    if (++this.depth > MOST_DEPTH) throw new LiteralError('too deep');
    this.cursor.expect('(');
    const call = this.call();
    this.cursor.expect(')');
    this.depth -= 1;
    return call;
  }

  private keywords(): ReadonlyMap<string, PythonValue> {
    const args = new Map<string, PythonValue>();
    while (!this.cursor.takes(')')) {
      const start = this.cursor.position;
      this.cursor.skipSpace();
      const name = this.cursor.match(NAME);
      if (name !== undefined && this.cursor.takes('=')) args.set(name, this.value());
      else {
        this.cursor.position = start;
        this.value();
      }
      if (!this.cursor.takes(',')) {
        this.cursor.expect(')');
        break;
      }
    }
    return args;
  }

  private number(): PythonValue | null {
    const whole = this.cursor.match(WHOLE);
    if (whole !== undefined) return { type: 'int', value: Number(whole) };
    const text = this.cursor.match(NUMBER);
    if (text === undefined) return null;
    if (/^0+[1-9_]\d*$/.test(text)) throw new LiteralError('a leading zero');
    return { type: /[.eE]/.test(text) ? 'float' : 'int', value: Number(text.replaceAll('_', '')) };
  }

  private text(): PythonValue | null {
    const value = readTexts(this.cursor);
    return value === null ? null : { type: 'str', value };
  }

  private container(): PythonValue | null {
    if (this.cursor.takes('[')) return { type: 'list', items: this.items(']').items };
    if (this.cursor.takes('{')) return { type: 'dict', entries: this.entries() };
    if (!this.cursor.takes('(')) return null;
    const { items, hasComma } = this.items(')');
    const [only] = items;
    return only !== undefined && items.length === 1 && !hasComma ? only : { type: 'tuple', items };
  }

  private items(end: string): { readonly items: PythonValue[]; readonly hasComma: boolean } {
    const items: PythonValue[] = [];
    let hasComma = false;
    while (!this.cursor.takes(end)) {
      items.push(this.value());
      if (!this.cursor.takes(',')) {
        this.cursor.expect(end);
        break;
      }
      hasComma = true;
    }
    return { items, hasComma };
  }

  private entries(): ReadonlyMap<string, PythonValue> {
    const entries = new Map<string, PythonValue>();
    while (!this.cursor.takes('}')) {
      const key = this.value();
      this.cursor.expect(':');
      entries.set(keyOf(key), this.value());
      if (!this.cursor.takes(',')) {
        this.cursor.expect('}');
        break;
      }
    }
    return entries;
  }

  /** A constant; else a name, an indexed name or a call without named arguments, which count as their text. */
  private named(): Term {
    if (this.cursor.takes('...')) return unknownName({ type: 'str', value: '...' });
    const start = this.cursor.position;
    const name = this.cursor.match(NAME);
    if (name === undefined) throw new LiteralError('no value');
    const constants = this.language === 'json' ? JSON_CONSTANTS : CONSTANTS;
    const constant = Object.hasOwn(constants, name) ? constants[name] : undefined;
    if (constant) return literal(constant);
    if (this.cursor.takes('[')) {
      this.items(']');
      return unknownName({ type: 'str', value: this.cursor.textFrom(start) });
    }
    if (this.cursor.peeks('(')) return unknownName(this.calledValue(name, start));
    if (name.includes('.')) throw new LiteralError('an attribute');
    return unknownName({ type: 'str', value: name });
  }

  /** With named arguments it is `{name: arguments}`, whatever the name: `dict(a=1)` too. */
  private calledValue(name: string, start: number): PythonValue {
    this.cursor.expect('(');
    const args = this.keywords();
    if (args.size === 0) return { type: 'str', value: this.cursor.textFrom(start) };
    return { type: 'dict', entries: new Map([[name, { type: 'dict', entries: args }]]) };
  }
}

function keyOf(value: PythonValue): string {
  return 'value' in value ? String(value.value) : '';
}
