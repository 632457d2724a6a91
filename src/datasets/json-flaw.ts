import { halfCharacterAt, repeatedKey } from '../core/json-flaws';

/** What the parser of JSON passes over without a word; null where there is nothing. */
export function flawOf(text: string, value: unknown): string | null {
  const key = repeatedKey(text, value);
  if (key !== null) return `an object has "${key}" twice, of which only the last would count. Keep one.`;
  const half = halfCharacterAt(text, value);
  if (half === null) return null;
  const where = half === '' ? 'a text' : `field "${half}"`;
  return `${where} has half of a character (a lone surrogate such as \\ud800), which cannot be written as UTF-8. Correct or remove it.`;
}
