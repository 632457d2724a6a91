import { ownValue } from '../../../core/own-value';
/** Inspect's grades as numbers. */
const GRADES: Readonly<Record<string, number>> = { C: 1, I: 0, P: 0.5, N: 0 };
const WORDS: Readonly<Record<string, number>> = { yes: 1, true: 1, no: 0, false: 0 };

/** A score as a number, by the rule of Inspect's own `value_to_float`; null for one that is unscored or has many parts. */
export function numberOfValue(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string') return null;
  const text = value.trim();
  const grade = ownValue(GRADES, text) ?? ownValue(WORDS, text.toLowerCase());
  if (grade !== undefined) return grade;
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : null;
}
