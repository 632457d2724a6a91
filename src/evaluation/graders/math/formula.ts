import { isSmallEnough } from './formula-size';

const NO_NUMBER_ROUNDED =
  /\\l(?:floor|ceil)(?![a-zA-Z])(?:\\(?:frac|sqrt|pi|cdot|ln|log)(?![a-zA-Z])|e(?![a-zA-Z])|[^\\a-zA-Z])*(?:(?!e(?![a-zA-Z]))[a-zA-Z]|\\(?!(?:r(?:floor|ceil)|frac|sqrt|pi|cdot|ln|log)(?![a-zA-Z])))/;
/** Text that the exact path's parser would read otherwise than people do, or that people read in two ways. */
const AMBIGUOUS: readonly RegExp[] = [
  // 1/2x
  /\/\s*(?:\d+(?:\.\d+)?|[a-zA-Z])\s*(?:[a-zA-Z(\\{])/,
  // x^2^3
  /\^(?:\{[^{}]*\}|\\?\w)\s*\^/,
  // digits side by side
  /\d\s+[\d.]/,
  // 2020-01-02
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/,
  // floor and ceiling of what is no number
  NO_NUMBER_ROUNDED,
  // x5, 3x10; the parser would multiply
  /(?<![\\a-zA-Z])(?<!\\[a-zA-Z]*)[a-zA-Z]\d/,
  // transposed, derived, complement: the parser drops these signs
  /\^\{?(?:T|\\top|\\prime|c)\}?(?![a-zA-Z])|'/,
  // double factorial, several signs, text, what is left out
  /!\s*!|\\[pm]{2}(?![a-zA-Z])|\\text|\\[lc]?dots|\.\.\.|%|°|\\mod|\\pmod|[?#@"]/,
  // overlined digits
  /\\overline\{\d/,
];

/** Whether the exact path can be asked about a formula. */
export function isCalculable(formula: string): boolean {
  const prepared = preparedFormula(formula);
  return prepared !== '' && isSmallEnough(prepared) && !AMBIGUOUS.some((pattern) => pattern.test(prepared));
}

/**
 * A formula in the exact path's terms: mixed numbers as sums, powers of ten as such, degrees within a trigonometric function in
 * radians.
 */
export function preparedFormula(formula: string): string {
  const inRadians = /\\(?:arc)?(?:sin|cos|tan|cot|sec|csc)/.test(formula)
    ? formula.replace(/(\d+(?:\.\d+)?)\s*°/g, '($1\\cdot\\frac{\\pi}{180})')
    : formula;
  return inRadians
    .replace(/(\d)[eE]([+-]?\d{1,3})(?![\d.])/g, '$1\\cdot10^{$2}')
    .replace(/(?<![\d.}])\d+\s*\\frac\{\d+\}\{\d+\}/g, mixedAsSum)
    .replace(/\\newline(?![a-zA-Z])/g, '\\\\')
    .replace(/(?<=\d),(?=\d{3}(?!\d))/g, (comma, at: number, whole: string) =>
      isBracketed(whole.slice(0, at)) && whole[at + 1] !== '0' ? comma : '',
    )
    .trim();
}

/** Whether a bracket is open where a text ends; there commas separate. */
function isBracketed(text: string): boolean {
  const opened = text.match(/[([]|\\\{/g)?.length ?? 0;
  return opened > (text.match(/[)\]]|\\\}/g)?.length ?? 0);
}

function mixedAsSum(mixed: string): string {
  const [units = '', top = '', bottom = ''] = mixed.match(/\d+/g) ?? [];
  return Number(top) < Number(bottom) ? `(${units}+\\frac{${top}}{${bottom}})` : mixed;
}
