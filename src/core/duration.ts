const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `90s`, `30m`, `6h`, `2d`, or of a plain number; null for anything else, 0 included. */
export function secondsOf(text: string): number | null {
  const [, amount = '', unit = 's'] = /^(\d{1,9}(?:\.\d{1,6})?)([smhd])?$/.exec(text.trim()) ?? [];
  const seconds = Number(amount) * (UNITS[unit] ?? 1);
  return amount !== '' && seconds > 0 ? seconds : null;
}

/** The shortest way to write it: `6h`, `90s`. */
export function durationText(seconds: number): string {
  for (const [unit, size] of Object.entries(UNITS).reverse()) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}
