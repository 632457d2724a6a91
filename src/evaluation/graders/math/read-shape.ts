import type { AnswerShape, ExpressionShape, NumberShape } from './answer-shape';
import { decimalsIn, readNumber } from './exact-number';
import { isCalculable, preparedFormula } from './formula';
import { squeezed } from './squeezed';
import { enclosed, splitTopLevel } from './top-level';
import { splitUnit } from './units';

const LONGEST_FORMULA = 4000;
const DEEPEST_NESTING = 8;
const LONGEST_LIST = 100;

const RELATION = /^(?:\\(?:le|ge|ne|in|approx|equiv)(?![a-zA-Z])|[<>]|=)/;
const SET_OPERATION = /^\\(?:cup|cap|setminus|backslash)(?![a-zA-Z])/;
const LITERAL_SET = /^\\mathbb\s*\{?[NZQRC]\}?(?:\^?[+-])?$/;
const MATRIX = /^\\begin\{([pbvB]?matrix|array)\}(?:\{[^{}]*\})?(.*)\\end\{\1\}$/s;

/** Reads a cleaned formula. */
export function readShape(text: string, depth = 0): AnswerShape {
  if (depth > DEEPEST_NESTING || text.length > LONGEST_FORMULA) return { kind: 'text', text };
  return (
    readSeparated(text, depth) ??
    readRelation(text) ??
    readSets(text, depth) ??
    readMatrix(text, depth) ??
    readBracketed(text, depth) ??
    readScalar(text)
  );
}

function readSeparated(text: string, depth: number): AnswerShape | null {
  if (readNumber(text)) return null;
  const items = separated(text, isGrouping).flatMap((item) => expandSigns(item));
  if (items.length < 2) return null;
  return collection('list', items, depth);
}

function collection(kind: 'set' | 'list', items: readonly string[], depth: number): AnswerShape {
  const written = new Set(items.map((item) => squeezed(item)));
  return { kind, items: readAll(items, depth), hasRepetitions: written.size < items.length };
}

/** At commas that do not group digits, or at semicolons where there are any. */
function separated(text: string, isGroup: typeof isGrouping): readonly string[] {
  const bySemicolon = splitTopLevel(text, (whole, index) => (whole[index] === ';' ? ';' : null));
  const pieces =
    bySemicolon.length > 1
      ? bySemicolon
      : splitTopLevel(text, (whole, index) => (whole[index] === ',' && !isGroup(whole, index) ? ',' : null));
  const items = pieces.map((piece) => piece.text).filter((item) => item !== '');
  return items.length > LONGEST_LIST ? [text] : items;
}

function isGrouping(text: string, index: number): boolean {
  return (
    /(?<!\d)[1-9]\d{0,2}(?:,\d{3})*$/.test(text.slice(Math.max(0, index - 40), index)) &&
    /^,\d{3}(?!\d)/.test(text.slice(index, index + 5))
  );
}

/** Between brackets commas separate, unless what follows is no number of its own: (1,000) is 1000, (1,234) a point. */
function isSurelyGrouping(text: string, index: number): boolean {
  return text[index + 1] === '0' && isGrouping(text, index);
}

/** a \pm b stands for two values. */
function expandSigns(item: string): readonly string[] {
  const signs = item.match(/\\pm(?![a-zA-Z])/g)?.length ?? 0;
  if (signs !== 1) return [item];
  const [plus, minus] = [item.replace(/\\pm\s*/, '+'), item.replace(/\\pm\s*/, '-')];
  return [plus.replace(/\\mp\s*/g, '-').replace(/^\+/, ''), minus.replace(/\\mp\s*/g, '+')];
}

function readRelation(text: string): AnswerShape | null {
  const pieces = splitTopLevel(
    text,
    (whole, index) => RELATION.exec(whole.slice(index, index + 12))?.[0] ?? null,
  );
  if (pieces.length === 1) return null;
  return {
    kind: 'relation',
    sides: pieces.map((piece) => piece.text),
    operators: pieces.slice(1).map((piece) => piece.separator),
  };
}

function readSets(text: string, depth: number): AnswerShape | null {
  if (/^(?:\\emptyset|\\\{\s*\\\})$/.test(text.trim())) return collection('set', [], depth);
  if (LITERAL_SET.test(text)) return { kind: 'union', latex: text, parts: [] };
  const pieces = splitTopLevel(
    text,
    (whole, index) => SET_OPERATION.exec(whole.slice(index, index + 12))?.[0] ?? null,
  );
  if (pieces.length === 1) return null;
  const isUnion = pieces.slice(1).every((piece) => piece.separator === '\\cup');
  const parts = isUnion ? pieces.map((piece) => readShape(piece.text, depth + 1)) : [];
  return { kind: 'union', latex: text, parts };
}

function readMatrix(text: string, depth: number): AnswerShape | null {
  const inside = enclosed(text);
  const bare = inside && /^[([]$/.test(inside.open) ? inside.inside : text;
  const [, kind, content] = MATRIX.exec(bare) ?? [];
  // A determinant is a number.
  if (content === undefined || kind === 'vmatrix' || content.includes('\\begin')) return null;
  const rows = content
    .split(/\\newline(?![a-zA-Z])/)
    .map((row) => row.replaceAll('\\hline', '').trim())
    .filter((row) => row !== '');
  return {
    kind: 'matrix',
    latex: preparedFormula(bare),
    rows: rows.map((row) => row.split('&').map((cell) => readShape(cell.trim(), depth + 1))),
  };
}

function readBracketed(text: string, depth: number): AnswerShape | null {
  const pair = enclosed(text);
  if (!pair || pair.open === '{') return null;
  const items = separated(pair.inside, isSurelyGrouping);
  if (pair.open === '\\{') {
    const values = items.flatMap((item) => expandSigns(item));
    return collection('set', values, depth);
  }
  if (items.length > 1)
    return { kind: 'tuple', open: pair.open, close: pair.close, items: readAll(items, depth) };
  return pair.open === '(' && pair.close === ')' ? readShape(pair.inside, depth + 1) : null;
}

function readAll(items: readonly string[], depth: number): readonly AnswerShape[] {
  return items.map((item) => readShape(item, depth + 1));
}

function readScalar(text: string): AnswerShape {
  const infinity = /^([+-]?)\s*\\infty$/.exec(text);
  if (infinity) return { kind: 'infinity', isNegative: infinity[1] === '-' };
  const based = /^([0-9A-Fa-f]+)_\{?(?:\\text\{)?(\d{1,2}|two|eight|ten)\}?\}?$/.exec(squeezed(text));
  if (based?.[1] !== undefined && based[2] !== undefined) {
    return { kind: 'based', digits: based[1].toLowerCase(), base: based[2] };
  }
  return readNumberShape(text) ?? readRatio(text) ?? readFormula(text);
}

function readNumberShape(text: string): NumberShape | null {
  const plain = readNumber(text);
  if (plain)
    return { kind: 'number', value: plain, decimals: decimalsIn(text), unit: null, isPercent: false };
  const { value, unit, isPercent } = splitUnit(text);
  const number = readNumber(value);
  return number && { kind: 'number', value: number, decimals: decimalsIn(value), unit, isPercent };
}

function readRatio(text: string): AnswerShape | null {
  const items = splitTopLevel(text, (whole, index) => (whole[index] === ':' ? ':' : null)).map(
    (piece) => piece.text,
  );
  if (items.length === 1 || items.includes('')) return null;
  return { kind: 'ratio', items: items.map((item) => readShape(item, DEEPEST_NESTING)) };
}

function readFormula(text: string): AnswerShape {
  const { value, unit, isPercent } = splitUnit(text);
  if (isWords(value)) return { kind: 'text', text };
  return expression(value, unit, isPercent);
}

function expression(value: string, unit: string | null, isPercent: boolean): ExpressionShape {
  return {
    kind: 'expression',
    latex: preparedFormula(value),
    unit,
    isPercent,
    isReadable: isReadableFormula(value),
  };
}

/** Letters only, more than one in a row: a word, or a product nobody can tell from one. */
function isWords(text: string): boolean {
  const bare = text.replace(/\\text\s*\{([^{}]*)\}/g, '$1').replace(/\\(?:begin|end)\{\w+\}/g, '');
  return (
    text.includes('\\text') ||
    /[a-zA-Z]{4,}/.test(bare.replace(/\\[a-zA-Z]+/g, '')) ||
    /^[a-zA-Z]{2,}$/.test(bare)
  );
}

/** A leading square bracket is a floor in one tradition and a plain bracket in another. */
function isReadableFormula(value: string): boolean {
  return isCalculable(value) && !value.startsWith('[');
}
