import { largestOf } from '../core/extremes';
import { validateName } from '../core/names';

/** `<kind>-<model's last part>-<n>`, with the next number nobody has. Numbers below the highest are not used again. */
export function defaultRunName(kind: string, model: string, taken: readonly string[]): string {
  const tail = model.split(/[/:]/).at(-1) ?? '';
  const clean = tail.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/\.{2,}/g, '.');
  return nextName(`${kind}-${clean || 'model'}`.slice(0, 90), taken);
}

/** `name-2`, `name-3`, … */
export function nextFreeSuffix(name: string, taken: readonly string[]): string {
  for (let number = 2; ; number++) {
    const candidate = `${name}-${number}`;
    if (!taken.includes(candidate)) return validateName('Run', candidate);
  }
}

/** `<base>-<n>`, one above the highest n there is. */
export function nextName(base: string, taken: readonly string[]): string {
  const numbers = taken
    .filter((name) => name.startsWith(`${base}-`))
    .map((name) => name.slice(base.length + 1))
    .filter((rest) => /^\d{1,9}$/.test(rest))
    .map(Number);
  return validateName('Run', `${base}-${Math.max(0, largestOf(numbers)) + 1}`);
}
