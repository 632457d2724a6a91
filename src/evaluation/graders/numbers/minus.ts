/** Hyphens, dashes and the minus of mathematics that are written as signs: all but the long dash of prose. */
const SIGNS = /[\u2010-\u2013\u2212\uFE58\uFE63\uFF0D]/g;

/** With one sign for all; places in the text stay as they are. */
export function withPlainMinus(text: string): string {
  return text.replace(SIGNS, '-');
}
