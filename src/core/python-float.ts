const SPECIAL_FLOATS: readonly (readonly [number, string])[] = [
  [Number.NaN, 'nan'],
  [Number.POSITIVE_INFINITY, 'inf'],
  [Number.NEGATIVE_INFINITY, '-inf'],
  [-0, '-0.0'],
];

/** The shortest text that reads back as the number; Python writes exponents below 1e-4 and from 1e16 on. */
export function floatText(value: number): string {
  const special = SPECIAL_FLOATS.find(([number]) => Object.is(number, value));
  if (special) return special[1];
  const [digits = '', exponentText = '0'] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, '0');
    return `${digits}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  return exponent < 0 ? smallText(digits, exponent) : wholeOrDecimal(value, digits, exponent);
}

function smallText(digits: string, exponent: number): string {
  const bare = digits.replace(/[-.]/g, '');
  return `${digits.startsWith('-') ? '-' : ''}0.${'0'.repeat(-exponent - 1)}${bare}`;
}

function wholeOrDecimal(value: number, digits: string, exponent: number): string {
  const bare = digits.replace(/[-.]/g, '');
  const whole = bare.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${value < 0 ? '-' : ''}${whole}.${bare.slice(exponent + 1) || '0'}`;
}
