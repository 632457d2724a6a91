/** Four significant digits, without a tail of zeros. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const isPlain = value === 0 || (Math.abs(value) >= 5e-4 && Math.abs(value) < 1e6);
  return isPlain ? String(Number(value.toFixed(Math.abs(value) < 10 ? 4 : 2))) : value.toExponential(3);
}
