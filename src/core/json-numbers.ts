import { floatText } from './python-float';
import { stripEnd } from './strip-ends';

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/** Numbers of JSON text that a double cannot hold: `1e999`, and what has more digits than it keeps. Integers are not among them. */
export function numbersBeyondDoubles(json: string): string[] {
  const numbers = (json.match(STRING_OR_NUMBER) ?? []).filter((token) => !token.startsWith('"'));
  return numbers.filter(
    (token) => /[.eE]/.test(token) && valueOf(token) !== valueOf(floatText(Number(token))),
  );
}

/** The same for every spelling of one number; null of what is none, such as `inf`. */
function valueOf(token: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(token) ?? [];
  if (whole === '') return null;
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = stripEnd(digits, '0');
  if (kept === '') return '0';
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}
