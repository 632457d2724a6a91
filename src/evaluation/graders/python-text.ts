/**
 * Text operations as Python defines them, where JavaScript's differ and the official graders are written in Python.
 */

import * as ends from '../../core/strip-ends';
import type { Stripped } from '../../core/strip-ends';

/** Python's white space, for use inside a character class: unlike `\s` with U+001C–U+001F and U+0085, without U+FEFF. */
export const SPACE = String.raw`\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;

/** Characters of `\w` in Python, for use inside a character class with the flag `u`: no combining marks. */
export const WORD = String.raw`\p{L}\p{N}_`;

const SPACE_ONLY = new RegExp(`[${SPACE}]`);

function isSpace(character: string): boolean {
  return SPACE_ONLY.test(character);
}

/** `str.strip()`, or `strip(characters)`. */
export function strip(text: string, stripped: Stripped = isSpace): string {
  return ends.stripEnds(text, stripped);
}

export function stripStart(text: string, stripped: Stripped = isSpace): string {
  return ends.stripStart(text, stripped);
}

export function stripEnd(text: string, stripped: Stripped = isSpace): string {
  return ends.stripEnd(text, stripped);
}

/** `str.split()`. */
export function splitWords(text: string): string[] {
  return text.split(new RegExp(`[${SPACE}]+`)).filter((word) => word !== '');
}

/** `str.isupper()`: at least one letter with case, and all such letters large. */
export function isUpper(text: string): boolean {
  return /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
}

/** `str.islower()`. */
export function isLower(text: string): boolean {
  return /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
}

export function removePrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

export function removeSuffix(text: string, suffix: string): string {
  return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
}
