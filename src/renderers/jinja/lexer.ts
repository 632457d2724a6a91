import { stripEnd, stripStart } from './python-text';
import { TemplateError } from './template-error';

export interface Token {
  readonly type: 'text' | 'open' | 'close' | 'name' | 'string' | 'integer' | 'float' | 'operator';
  /** Of a string what it stands for, of others what is written; an `open` is `{{` or `{%`. */
  readonly text: string;
  /** Where it begins in the template. */
  readonly at: number;
}

const FLOAT = /(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/y;
const INTEGER = /0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*/y;
const NAME = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy;
const STRING = /'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"/sy;
const OPERATOR = /\*\*|\/\/|==|!=|<=|>=|[-+*/%~<>=.,:|()[\]{};]/y;
const PATTERNS: readonly (readonly [Token['type'], RegExp])[] = [
  ['float', FLOAT],
  ['integer', INTEGER],
  ['name', NAME],
  ['string', STRING],
  ['operator', OPERATOR],
];
const OPENING = /\{[{%#]/g;
const RAW = /\{%[-+]?\s*raw\s*(-?)%\}/y;
const END_RAW = /\{%([-+]?)\s*endraw\s*(-|\+|)%\}/g;
const CLOSINGS = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
]);

/**
 * Cuts a template into tokens as Jinja does with `trim_blocks` and `lstrip_blocks`: a block takes the line break after it
 * and the indentation before it along.
 */
export function tokenize(source: string): Token[] {
  return new Lexer(source.replace(/\r\n?/g, '\n').replace(/\n$/, '')).run();
}

class Lexer {
  private readonly tokens: Token[] = [];
  private position = 0;
  /** Whether what was read so far ends with a line break that a tag took along. */
  private isAtLineStart = true;

  constructor(private readonly source: string) {}

  run(): Token[] {
    for (;;) {
      OPENING.lastIndex = this.position;
      const found = OPENING.exec(this.source);
      if (!found) break;
      this.readText(found.index, found[0]);
      this.position = found.index;
      this.readTag(found[0]);
    }
    this.push('text', this.source.slice(this.position));
    return this.tokens;
  }

  private push(type: Token['type'], text: string): void {
    if (type === 'text' && text === '') return;
    this.tokens.push({ type, text, at: this.position });
  }

  private readText(end: number, opening: string): void {
    const text = this.source.slice(this.position, end);
    const sign = this.source[end + 2] ?? '';
    if (sign === '-') this.push('text', stripEnd(text));
    else if (sign === '+' || opening === '{{') this.push('text', text);
    else this.push('text', this.withoutIndentation(text));
  }

  private withoutIndentation(text: string): string {
    const start = text.lastIndexOf('\n') + 1;
    if (start === 0 && !this.isAtLineStart) return text;
    return stripEnd(text.slice(start)) === '' ? text.slice(0, start) : text;
  }

  private readTag(opening: string): void {
    RAW.lastIndex = this.position;
    const raw = opening === '{%' ? RAW.exec(this.source) : null;
    if (raw) {
      this.readRaw(this.position + raw[0].length, raw[1] === '-');
      return;
    }
    this.position += /[-+]/.test(this.source[this.position + 2] ?? '') ? 3 : 2;
    if (opening === '{#') {
      const end = this.source.indexOf('#}', this.position);
      if (end < 0) throw this.problem('Missing end of comment tag');
      this.endTag(end, this.source[end - 1] ?? '', false);
      return;
    }
    this.push('open', opening);
    this.readCode(opening === '{{' ? '}}' : '%}');
  }

  private readRaw(start: number, strips: boolean): void {
    END_RAW.lastIndex = start;
    const end = END_RAW.exec(this.source);
    if (!end) throw this.problem('Missing end of raw directive');
    const text = this.source.slice(start, end.index);
    const kept = strips ? stripStart(text) : text;
    this.push('text', end[1] === '-' ? stripEnd(kept) : kept);
    this.endTag(end.index + end[0].length - 2, end[2] ?? '', false);
  }

  /** Goes past a tag's end and what it takes along. */
  private endTag(end: number, sign: string, keepsLineBreak: boolean): void {
    const start = end + 2;
    this.position = start;
    if (sign === '-') {
      this.position = this.source.length - stripStart(this.source.slice(start)).length;
    } else if (sign !== '+' && !keepsLineBreak && this.source[start] === '\n') this.position++;
    this.isAtLineStart = this.source[this.position - 1] === '\n';
  }

  private readCode(closing: string): void {
    const open: string[] = [];
    for (;;) {
      const rest = this.source.length - stripStart(this.source.slice(this.position)).length;
      this.position = rest;
      if (this.position >= this.source.length) throw this.problem(`Missing "${closing}"`);
      if (open.length === 0 && this.readClosing(closing)) return;
      this.readToken(open);
    }
  }

  private readClosing(closing: string): boolean {
    const hasSign = /[-+]/.test(this.source[this.position] ?? '');
    const start = this.position + (hasSign ? 1 : 0);
    if (!this.source.startsWith(closing, start)) return false;
    this.push('close', closing);
    this.endTag(start, hasSign ? (this.source[this.position] ?? '') : '', closing === '}}');
    return true;
  }

  private readToken(open: string[]): void {
    const last = this.tokens.at(-1);
    // `list.0.name` has no number 0.
    const isAfterDot = last?.text === '.' && last.type === 'operator';
    const patterns = isAfterDot ? PATTERNS.slice(1) : PATTERNS;
    for (const [type, pattern] of patterns) {
      pattern.lastIndex = this.position;
      const text = pattern.exec(this.source)?.[0];
      if (text === undefined) continue;
      this.push(type, type === 'string' ? unescaped(text.slice(1, -1)) : text);
      this.position += text.length;
      if (type === 'operator') this.balance(text, open);
      return;
    }
    throw this.problem(`unexpected char ${JSON.stringify(this.source[this.position] ?? '')}`);
  }

  private balance(operator: string, open: string[]): void {
    const closing = CLOSINGS.get(operator);
    if (closing !== undefined) open.push(closing);
    else if (/[)\]}]/.test(operator) && open.pop() !== operator) {
      throw this.problem(`unexpected "${operator}"`);
    }
  }

  private problem(message: string): TemplateError {
    return problemAt(this.source, this.position, message);
  }
}

export function problemAt(source: string, position: number, message: string): TemplateError {
  return new TemplateError(`${message} (line ${source.slice(0, position).split('\n').length})`);
}

const ESCAPES = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['v', '\v'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['\n', ''],
]);

function unescaped(text: string): string {
  return text.replace(/\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{1,3}|.)/gs, (escape) => {
    const rest = escape.slice(1);
    if (/^[xuU]./.test(rest)) return String.fromCodePoint(parseInt(rest.slice(1), 16));
    if (/^[0-7]/.test(rest)) return String.fromCodePoint(parseInt(rest, 8));
    return ESCAPES.get(rest) ?? escape;
  });
}
