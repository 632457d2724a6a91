import type { RelationShape } from './answer-shape';
import { cleanLatex } from './clean-latex';
import { readNumber } from './exact-number';
import { readShape } from './read-shape';
import { bareName, upwards } from './relations';

const OR =
  /\s*,?\s*(?:\\text\s*\{\s*,?\s*or\s*\}|\\(?:lor|vee)(?![a-zA-Z])|(?<![\\a-zA-Z])or(?![a-zA-Z]))\s*/;
const AND =
  /\s*,?\s*(?:\\text\s*\{\s*,?\s*and\s*\}|\\(?:land|wedge)(?![a-zA-Z])|(?<![\\a-zA-Z])and(?![a-zA-Z])|,)\s*/;
const RELATION = /[<>≠≤≥]|!=|\\(?:lt|gt|[lg]e|[lg]eq|[lg]eqslant|neq?)(?![a-zA-Z])/;
/** "\{x \mid x > 3\}" */
const SET_OF_NUMBERS =
  /^\s*\$?\s*(?:\\left\s*)?\\\{\s*([a-zA-Z])(?:\s*\\in\s*\\mathbb\s*\{?R\}?)?(?:\s|\\[,;: ])*(?:\\mid(?![a-zA-Z])|\||:)(?:\s|\\[,;: ])*((?:[^{}]|\{[^{}]*\})+?)\s*(?:\\right\s*)?\\\}\s*\$?\s*$/;
const LONGEST = 500;

/**
 * Relations for one variable that only "or" joins, and "x \ne a", as the set of its values: "x < 2 or x > 3" is
 * (-\infty,2)\cup(3,\infty), "x > 2 and x < 3" is (2,3). Any other text is as it was.
 */
export function withRelationsAsSets(text: string): string {
  if (text.length > LONGEST || !RELATION.test(text)) return text;
  return asUnion(withoutBraces(text));
}

/** x > 3 of \{x \mid x > 3\} */
function withoutBraces(text: string): string {
  const [, name = '', condition = ''] = SET_OF_NUMBERS.exec(text) ?? [];
  return RELATION.test(condition) && condition.includes(name) ? condition : text;
}

function asUnion(text: string): string {
  const sets = text.split(OR).map((part) => setOf(part) ?? setBetween(part));
  const names = new Set(sets.map((set) => set?.name));
  const isUnion = sets.length > 1 || sets[0]?.isSetAlone === true;
  if (!isUnion || names.size !== 1 || sets.includes(null)) return text;
  return sets.flatMap((set) => set?.parts ?? []).join('\\cup ');
}

interface RelationSet {
  readonly name: string;
  readonly parts: readonly string[];
  /** Whether it is no interval as it is written: "x \ne a", "|x| < a". */
  readonly isSetAlone: boolean;
}

/** "x > 2 and x < 3"; null where the bounds leave nothing between them, which is hardly meant. */
function setBetween(part: string): RelationSet | null {
  const rays = part.split(AND).map((each) => rayOf(each));
  const [low] = rays.flatMap((ray) => (ray?.low === undefined ? [] : [ray]));
  const [high] = rays.flatMap((ray) => (ray?.high === undefined ? [] : [ray]));
  if (rays.length !== 2 || low?.low === undefined || high?.high === undefined) return null;
  if (low.name !== high.name || !isBelow(low.low, high.high)) return null;
  return {
    name: low.name,
    parts: [`${low.bracket}${low.low},${high.high}${high.bracket}`],
    isSetAlone: true,
  };
}

function isBelow(low: string, high: string): boolean {
  const [left, right] = [readNumber(low), readNumber(high)];
  if (!left || !right) return true;
  return left.numerator * right.denominator < right.numerator * left.denominator;
}

interface Ray {
  readonly name: string;
  readonly low?: string;
  readonly high?: string;
  readonly bracket: string;
}

function rayOf(part: string): Ray | null {
  const shape = relationIn(part);
  const relation = shape && upwards(shape);
  if (relation?.sides.length !== 2) return null;
  const [left = '', right = ''] = relation.sides;
  const [below, above] = [bareName(left), bareName(right)];
  const [opening, closing] = relation.operators[0] === '\\le' ? ['[', ']'] : ['(', ')'];
  if (below === null) return above === null ? null : { name: above, low: left, bracket: opening };
  return above === null ? { name: below, high: right, bracket: closing } : null;
}

function relationIn(part: string): RelationShape | null {
  const shape = readShape(cleanLatex(part.replace(/^\s*\$|\$\s*$/g, '')));
  return shape.kind === 'relation' ? shape : null;
}

function setOf(part: string): RelationSet | null {
  const shape = relationIn(part);
  if (!shape) return null;
  const [left = '', right = ''] = shape.sides;
  if (shape.operators.join() === '\\ne' && bareName(left) !== null) {
    return {
      name: bareName(left) ?? '',
      parts: [`(-\\infty,${right})`, `(${right},\\infty)`],
      isSetAlone: true,
    };
  }
  const relation = upwards(shape);
  if (!relation) return null;
  const { sides, operators } = relation;
  return intervalSet(sides, operators) ?? absoluteSet(sides, operators);
}

function intervalSet(sides: readonly string[], operators: readonly string[]): RelationSet | null {
  const at = sides.findIndex((side) => bareName(side) !== null);
  const name = bareName(sides[at] ?? '');
  const isOneVariable = sides.length <= 3 && (sides.length === 2 || at === 1);
  if (name === null || !isOneVariable) return null;
  const low = sides[at - 1];
  const high = sides[at + 1];
  const open = operators[at - 1] === '\\le' ? '[' : '(';
  const close = operators[at] === '\\le' ? ']' : ')';
  return { name, parts: [`${open}${low ?? '-\\infty'},${high ?? '\\infty'}${close}`], isSetAlone: false };
}

const ABSOLUTE = /^(?:\||\\lvert ?)\s*([a-zA-Z])\s*(?:\||\\rvert)$/;

/** "|x| < a", "|x| > a" and "a < |x| < b" with positive numbers; as everywhere, letters are real numbers. */
function absoluteSet(sides: readonly string[], operators: readonly string[]): RelationSet | null {
  const at = sides.findIndex((side) => ABSOLUTE.test(side));
  const name = ABSOLUTE.exec(sides[at] ?? '')?.[1];
  const [low, high] = [sides[at - 1], sides[at + 1]];
  const bounds = [low, high].filter((bound) => bound !== undefined);
  if (name === undefined || sides.length !== bounds.length + 1 || !bounds.every(isPositive)) return null;
  const isWithin = { low: operators[at - 1] === '\\le', high: operators[at] === '\\le' };
  return { name, parts: absoluteParts(low, high ?? '\\infty', isWithin), isSetAlone: true };
}

/** Numbers whose distance from 0 lies between two bounds, as one interval or two. */
function absoluteParts(
  low: string | undefined,
  high: string,
  isWithin: { readonly low: boolean; readonly high: boolean },
): string[] {
  const right = `${high}${isWithin.high ? ']' : ')'}`;
  const left = `${isWithin.high ? '[' : '('}-${high}`;
  if (low === undefined) return [`${left},${right}`];
  return [`${left},-${low}${isWithin.low ? ']' : ')'}`, `${isWithin.low ? '[' : '('}${low},${right}`];
}

function isPositive(bound: string): boolean {
  return (readNumber(bound)?.numerator ?? 0n) > 0n;
}
