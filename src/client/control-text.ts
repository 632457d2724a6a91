import type { ControlReceipt } from '../core/controls';
import { fieldsOf } from '../core/controls';
import { NO_BUDGET } from '../core/controls/budget';

/** A change in words: `setLearningRate 0.001 → 0.0005`. */
export function changeText({ control, from, to }: Pick<ControlReceipt, 'control' | 'from' | 'to'>): string {
  if (control === 'setBudget') return `setBudget ${budgetText(fieldsOf(from), fieldsOf(to))}`;
  const before = valueText(endless(control, from));
  const after = valueText(endless(control, to));
  return [control, before, before === '' ? '' : '→', after].filter((part) => part !== '').join(' ');
}

/** A pause without an end says who ends it, and not what would come after an end. */
function endless(control: string, value: unknown): unknown {
  if (control !== 'pause' || typeof value !== 'object' || value === null) return value;
  const { step, seconds } = fieldsOf(value);
  return seconds === null || seconds === undefined ? `step ${valueText(step)}, until resumed` : value;
}

type Fields = Partial<Record<string, unknown>>;

/** The limits that changed. A price of 0 is that of an engine that costs nothing: nobody set it. */
function budgetText(from: Fields, to: Fields): string {
  const isFree = to['dollarsPerMillionTokens'] === 0;
  const changed = Object.keys(NO_BUDGET).filter(
    (name) => !(name === 'dollarsPerMillionTokens' && isFree) && (from[name] ?? null) !== (to[name] ?? null),
  );
  const texts = changed.map((name) => {
    const note = name === 'dollars' && isFree && to[name] != null ? ' (tokens are free here)' : '';
    return `${name} ${limitText(from[name])} → ${limitText(to[name])}${note}`;
  });
  return texts.length === 0 ? 'as it was' : texts.join(', ');
}

function limitText(limit: unknown): string {
  return limit === null || limit === undefined ? 'none' : valueText(limit);
}

/** Whole numbers in full, fractions with six significant digits. */
export function numberText(value: number): string {
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
}

/** Lists and fields without what is null. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(valueText).join(',');
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, inner]): [string, string] => [name, valueText(inner)])
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${name} ${text}`)
    .join(', ');
}
