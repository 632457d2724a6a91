import { makeItems } from './made-values';

/** Characters of a text are code points: a surrogate pair is one. */
const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

export function charactersOf(text: string): readonly string[] {
  makeItems(text.length);
  return Array.from(text);
}

export function characterCount(text: string): number {
  if (!PAIR.test(text)) return text.length;
  let count = 0;
  for (let unit = 0; unit < text.length; unit += widthAt(text, unit)) count++;
  return count;
}

/** From one position of characters up to another one, neither of them below zero. */
export function sliceOfCharacters(text: string, from: number, to: number): string {
  const start = unitOf(text, from);
  return text.slice(start, Math.max(start, unitOf(text, to)));
}

/** A position below zero is counted from the end; undefined where there is no character. */
export function characterAt(text: string, position: number): string | undefined {
  const from = position < 0 ? position + characterCount(text) : position;
  if (from < 0) return undefined;
  const unit = unitOf(text, from);
  return unit < text.length ? text.slice(unit, unit + widthAt(text, unit)) : undefined;
}

/** Negative, zero or positive, as their first different characters are in order. */
export function compareCharacters(left: string, right: string): number {
  const shorter = Math.min(left.length, right.length);
  let unit = 0;
  while (unit < shorter && left.charCodeAt(unit) === right.charCodeAt(unit)) unit++;
  if (unit === shorter) return left.length - right.length;
  const isInPair = unit > 0 && [left, right].some((text) => PAIR.test(text.slice(unit - 1, unit + 1)));
  const start = isInPair ? unit - 1 : unit;
  return (left.codePointAt(start) ?? 0) - (right.codePointAt(start) ?? 0);
}

function unitOf(text: string, position: number): number {
  if (!PAIR.test(text)) return Math.min(position, text.length);
  let unit = 0;
  for (let left = position; left > 0 && unit < text.length; left--) unit += widthAt(text, unit);
  return unit;
}

function widthAt(text: string, unit: number): number {
  return (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
}
