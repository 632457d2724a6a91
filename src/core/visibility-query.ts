import { DomainError } from './errors';
import { nearestKey } from './nearest-key';

/** What a query may ask of a run, by the server's names. null is what the run has not (yet). */
export type Facts = Readonly<Record<string, string | number | null>>;

type Condition = (facts: Facts) => boolean;
type Value = string | number;

const TOKEN =
  /\s*(?:(`[^`]*`|[A-Za-z_][A-Za-z0-9_.]*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(<=|>=|!=|<>|=|<|>|\(|\)|,))/y;
const WORDS = new Set(['AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'IS', 'NULL', 'STARTS_WITH']);
const MOST_CHARACTERS = 4000;

type Token =
  | { readonly type: 'word' | 'name' | 'sign'; readonly text: string }
  | { readonly type: 'value'; readonly text: string; readonly value: Value };

/**
 * The part of Temporal's list filters that can be answered from the store: comparisons, IN, BETWEEN, STARTS_WITH and IS NULL of
 * the attributes of `names`, with AND, OR, NOT and brackets. Throws `bad-config` for anything else.
 */
export function parseVisibilityQuery(query: string, names: readonly string[]): Condition {
  const parser = new Parser(query, tokensOf(query), names);
  return parser.parse();
}

/** Texts and names in quotes, brackets, and what begins a comment or another query; all else is the server's to read. */
const PART = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)|(["'`;#]|--|\/\/|\/\*|\*\/|[()])/gs;

/**
 * Refuses what would not stay whole where it is put between brackets: brackets or quotes that are not paired, comments, a second
 * query. Throws `bad-config`.
 */
export function requireWholeQuery(query: string): void {
  let depth = 0;
  for (const [, quoted, sign = ''] of query.matchAll(PART)) {
    if (quoted !== undefined) continue;
    if (sign === '(') depth += 1;
    else if (sign !== ')') throw refused(query, `at ${sign}`);
    else if (--depth < 0) throw refused(query, 'at ")", which closes no bracket');
  }
  if (depth > 0) throw refused(query, 'at its end: a bracket is not closed');
}

function tokensOf(query: string): Token[] {
  const tokens: Token[] = [];
  const text = query.slice(0, MOST_CHARACTERS).trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw refused(query, `at "${text.slice(at).trim().slice(0, 30)}"`);
    tokens.push(tokenOf(match));
  }
  return tokens;
}

function tokenOf([whole, name, quoted, number]: readonly (string | undefined)[]): Token {
  const text = (whole ?? '').trim();
  if (quoted !== undefined) {
    return { type: 'value', text, value: quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1') };
  }
  if (number !== undefined) return { type: 'value', text, value: Number(number) };
  if (name === undefined) return { type: 'sign', text };
  const upper = name.toUpperCase();
  return WORDS.has(upper) ? { type: 'word', text: upper } : { type: 'name', text: name.replaceAll('`', '') };
}

class Parser {
  private index = 0;

  constructor(
    private readonly query: string,
    private readonly tokens: readonly Token[],
    private readonly names: readonly string[],
  ) {}

  parse(): Condition {
    const condition = this.either();
    if (this.index < this.tokens.length) throw this.unexpected();
    return condition;
  }

  private either(): Condition {
    const parts = [this.both()];
    while (this.takes('OR')) parts.push(this.both());
    return (facts) => parts.some((part) => part(facts));
  }

  private both(): Condition {
    const parts = [this.single()];
    while (this.takes('AND')) parts.push(this.single());
    return (facts) => parts.every((part) => part(facts));
  }

  private single(): Condition {
    if (this.takes('NOT')) {
      const inner = this.single();
      return (facts) => !inner(facts);
    }
    if (this.takes('(')) {
      const inner = this.either();
      this.require(')');
      return inner;
    }
    return this.comparison(this.name());
  }

  private comparison(name: string): Condition {
    if (this.takes('IS')) {
      const isNegated = this.takes('NOT');
      this.require('NULL');
      return (facts) => (facts[name] === null) !== isNegated;
    }
    const isNegated = this.takes('NOT');
    const test = this.test();
    return (facts) => {
      const fact = facts[name] ?? null;
      return fact !== null && test(fact) !== isNegated;
    };
  }

  private test(): (fact: Value) => boolean {
    if (this.takes('IN')) return this.membership();
    if (this.takes('BETWEEN')) {
      const low = this.value();
      this.require('AND');
      const high = this.value();
      return (fact) => compare(fact, low) >= 0 && compare(fact, high) <= 0;
    }
    if (this.takes('STARTS_WITH')) {
      const start = String(this.value());
      return (fact) => String(fact).startsWith(start);
    }
    return this.relation();
  }

  private membership(): (fact: Value) => boolean {
    this.require('(');
    const values = [this.value()];
    while (this.takes(',')) values.push(this.value());
    this.require(')');
    return (fact) => values.some((value) => compare(fact, value) === 0);
  }

  private relation(): (fact: Value) => boolean {
    const sign = this.tokens[this.index];
    const holds = sign?.type === 'sign' ? RELATIONS[sign.text] : undefined;
    if (!holds) throw this.unexpected();
    this.index += 1;
    const value = this.value();
    return (fact) => holds(compare(fact, value));
  }

  private name(): string {
    const token = this.tokens[this.index];
    if (token?.type !== 'name') throw this.unexpected();
    if (!this.names.includes(token.text)) {
      const nearest = nearestKey(token.text, this.names);
      const meant = nearest === undefined ? '' : `did you mean ${nearest}? `;
      throw refused(this.query, `at "${token.text}": ${meant}Known: ${this.names.join(', ')}`);
    }
    this.index += 1;
    return token.text;
  }

  private value(): Value {
    const token = this.tokens[this.index];
    if (token?.type !== 'value') throw this.unexpected();
    this.index += 1;
    return token.value;
  }

  private takes(text: string): boolean {
    const token = this.tokens[this.index];
    if (token?.text !== text || token.type === 'value') return false;
    this.index += 1;
    return true;
  }

  private require(text: string): void {
    if (!this.takes(text)) throw this.unexpected();
  }

  private unexpected(): DomainError {
    const token = this.tokens[this.index];
    return refused(this.query, token ? `at "${token.text.slice(0, 30)}"` : 'at its end');
  }
}

const RELATIONS: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** Times as times, however they are written; NaN where the two cannot be compared, which no relation but `!=` holds of. */
function compare(fact: Value, value: Value): number {
  if (typeof fact === 'number') return fact - Number(value);
  const text = String(value);
  if (/^\d{4}-\d{2}-\d{2}T/.test(fact)) return Date.parse(fact) - Date.parse(text);
  return fact < text ? -1 : Number(fact > text);
}

function refused(query: string, where: string): DomainError {
  return new DomainError(
    'bad-config',
    `The query ${JSON.stringify(query.slice(0, 120))} cannot be read ${where}. Write e.g. EverstepKind = "sft" AND EverstepScore > 0.5.`,
  );
}
