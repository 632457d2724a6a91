import type { Term } from './arithmetic';
import { computed, lengthOf, literal, signed, unknownName } from './arithmetic';
import { LiteralError } from './literal-error';
import type { FunctionCall, PythonValue } from './python-value';

const WHOLE = /0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+/y;
const NUMBER = /(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?/y;
const SUM = /[+-]/y;
const PRODUCT = /\/\/|\*(?!\*)|[/%]/y;
const POWER = /\*\*/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*(?:\s*\.\s*[\p{L}_][\p{L}\p{N}_]*)*/uy;
const SPACE = /(?:\s|#[^\n]*)*/y;
const STRING_START = /[rRbBuUfF]{0,2}("""|'''|"|')/y;
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
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '0': '\0',
  '\n': '',
};
const MOST_DEPTH = 100;
/** Items and characters of all texts and lists that are put together or repeated. */
const MOST_MADE = 100_000;

/**
 * Reads Python literals and calls as the official checker resolves them, and JSON, which is nearly the same: there `true` is no
 * text, and a dict written as a call does not occur.
 */
export class LiteralReader {
  private position = 0;
  private depth = 0;
  private made = 0;

  constructor(
    private readonly text: string,
    private readonly language: 'python' | 'json' = 'python',
  ) {}

  get isAtEnd(): boolean {
    this.match(SPACE);
    return this.position >= this.text.length;
  }

  /** `[f(a=1), g.h(b="x")]`. Arguments without a name are left out. */
  calls(): FunctionCall[] {
    const calls: FunctionCall[] = [];
    this.expect('[');
    while (!this.peeks(']')) {
      calls.push(this.call());
      if (!this.takes(',')) break;
    }
    this.expect(']');
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
    this.match(SPACE);
    return this.match(pattern);
  }

  private atom(): Term {
    this.match(SPACE);
    const value = this.string() ?? this.container() ?? this.number();
    return value === null ? this.named() : literal(value);
  }

  private call(): FunctionCall {
    const start = this.position;
    const isEnclosed = this.takes('(');
    this.match(SPACE);
    const name = this.match(NAME)?.replaceAll(/\s/g, '');
    // `(f(a=1))` or `(f)(a=1)`
    if (isEnclosed && (name === undefined || !this.takes(')'))) {
      this.position = start;
      return this.enclosedCall();
    }
    if (name === undefined) throw new LiteralError('no call');
    this.expect('(');
    return { name, args: this.keywords() };
  }

  private enclosedCall(): FunctionCall {
    if (++this.depth > MOST_DEPTH) throw new LiteralError('too deep');
    this.expect('(');
    const call = this.call();
    this.expect(')');
    this.depth -= 1;
    return call;
  }

  private keywords(): ReadonlyMap<string, PythonValue> {
    const args = new Map<string, PythonValue>();
    while (!this.takes(')')) {
      const start = this.position;
      this.match(SPACE);
      const name = this.match(NAME);
      if (name !== undefined && this.takes('=')) args.set(name, this.value());
      else {
        this.position = start;
        this.value();
      }
      if (!this.takes(',')) {
        this.expect(')');
        break;
      }
    }
    return args;
  }

  private number(): PythonValue | null {
    const whole = this.match(WHOLE);
    if (whole !== undefined) return { type: 'int', value: Number(whole) };
    const text = this.match(NUMBER);
    if (text === undefined) return null;
    if (/^0+[1-9_]\d*$/.test(text)) throw new LiteralError('a leading zero');
    return { type: /[.eE]/.test(text) ? 'float' : 'int', value: Number(text.replaceAll('_', '')) };
  }

  private container(): PythonValue | null {
    if (this.takes('[')) return { type: 'list', items: this.items(']').items };
    if (this.takes('{')) return { type: 'dict', entries: this.entries() };
    if (!this.takes('(')) return null;
    const { items, hasComma } = this.items(')');
    const [only] = items;
    return only !== undefined && items.length === 1 && !hasComma ? only : { type: 'tuple', items };
  }

  private items(end: string): { readonly items: PythonValue[]; readonly hasComma: boolean } {
    const items: PythonValue[] = [];
    let hasComma = false;
    while (!this.takes(end)) {
      items.push(this.value());
      if (!this.takes(',')) {
        this.expect(end);
        break;
      }
      hasComma = true;
    }
    return { items, hasComma };
  }

  private entries(): ReadonlyMap<string, PythonValue> {
    const entries = new Map<string, PythonValue>();
    while (!this.takes('}')) {
      const key = this.value();
      this.expect(':');
      entries.set(keyOf(key), this.value());
      if (!this.takes(',')) {
        this.expect('}');
        break;
      }
    }
    return entries;
  }

  /** A constant; else a name, an indexed name or a call without named arguments, which count as their text. */
  private named(): Term {
    if (this.takes('...')) return unknownName({ type: 'str', value: '...' });
    const start = this.position;
    const name = this.match(NAME);
    if (name === undefined) throw new LiteralError('no value');
    const constants = this.language === 'json' ? JSON_CONSTANTS : CONSTANTS;
    const constant = Object.hasOwn(constants, name) ? constants[name] : undefined;
    if (constant) return literal(constant);
    if (this.takes('[')) {
      this.items(']');
      return unknownName({ type: 'str', value: this.text.slice(start, this.position) });
    }
    if (this.peeks('(')) return unknownName(this.calledValue(name, start));
    if (name.includes('.')) throw new LiteralError('an attribute');
    return unknownName({ type: 'str', value: name });
  }

  /** With named arguments it is `{name: arguments}`, whatever the name: `dict(a=1)` too. */
  private calledValue(name: string, start: number): PythonValue {
    this.expect('(');
    const args = this.keywords();
    if (args.size === 0) return { type: 'str', value: this.text.slice(start, this.position) };
    return { type: 'dict', entries: new Map([[name, { type: 'dict', entries: args }]]) };
  }

  /** Texts beside one another are one. */
  private string(): PythonValue | null {
    let value = this.oneString();
    if (value === null) return null;
    for (;;) {
      this.match(SPACE);
      const next = this.oneString();
      if (next === null) return { type: 'str', value };
      value += next;
    }
  }

  private oneString(): string | null {
    STRING_START.lastIndex = this.position;
    const opening = STRING_START.exec(this.text);
    const quote = opening?.[1];
    if (!opening || quote === undefined) return null;
    const prefix = opening[0].slice(0, -quote.length);
    if (/[fb]/i.test(prefix)) throw new LiteralError('a text of another kind');
    this.position += opening[0].length;
    const value = this.characters(quote, /r/i.test(prefix));
    this.position += quote.length;
    return value;
  }

  private characters(quote: string, isRaw: boolean): string {
    let value = '';
    while (!this.text.startsWith(quote, this.position)) {
      const character = this.text[this.position];
      if (character === undefined || (character === '\n' && quote.length === 1))
        throw new LiteralError('a text without end');
      value += character === '\\' && !isRaw ? this.escape() : character;
      this.position += 1;
    }
    return value;
  }

  /** Leaves the position at the last character of the escape. */
  private escape(): string {
    this.position += 1;
    const mark = this.text[this.position] ?? '';
    const length = { x: 2, u: 4, U: 8 }[mark];
    if (length === undefined) return ESCAPES[mark] ?? (/["'\\/]/.test(mark) ? mark : `\\${mark}`);
    const digits = this.text.slice(this.position + 1, this.position + 1 + length);
    if (!/^[\da-f]+$/i.test(digits) || digits.length < length) throw new LiteralError('a broken escape');
    this.position += length;
    const code = Number.parseInt(digits, 16);
    return code > 0x10ffff ? '\uFFFD' : length === 8 ? String.fromCodePoint(code) : String.fromCharCode(code);
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.position += found.length;
    return found;
  }

  private peeks(mark: string): boolean {
    this.match(SPACE);
    return this.text.startsWith(mark, this.position);
  }

  private takes(mark: string): boolean {
    const isThere = this.peeks(mark);
    if (isThere) this.position += mark.length;
    return isThere;
  }

  private expect(mark: string): void {
    if (!this.takes(mark)) throw new LiteralError(`no "${mark}" at ${this.position}`);
  }
}

function keyOf(value: PythonValue): string {
  return 'value' in value ? String(value.value) : '';
}
