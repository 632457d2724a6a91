/** The parser's time doubles with each bracket around another beyond some ten. */
const DEEPEST_BRACKETS = 10;
const LONGEST_CALCULATED = 1000;
/** Of the whole numbers that a formula would be multiplied out to. */
const MOST_DIGITS = 20_000;
/** Of any base: what lies in brackets may be a whole number, too. */
const LARGEST_EXPONENT = 20_000;
const LARGEST_FACTORIAL = 5000;
const LONG_LOOP = /\\(?:sum|prod)(?![a-zA-Z])[^]{0,80}?\^\s*(?:\{[^{}]*\d{4,}[^{}]*\}|\d{4,})/;
const LOOPS = /\\(?:sum|prod)(?![a-zA-Z])/g;
const OPENING = '([{';
const CLOSING = ')]}';
const POWER_OF_NUMBERS = /(\d+(?:\.\d+)?)\^(?:\{\+?(\d+)\}|(\d))/;
const EXPONENT = /\^\s*\{?\s*[+-]?\s*(\d+)/g;
const FACTORIAL = /(\d+)\s*\}?\)?\s*!/g;
const BINOMIAL = /\\binom\s*\{(\d+)\}\s*\{(\d+)\}/g;

/**
 * Whether a formula can be calculated within seconds on any machine, by its structure alone: how deep its brackets lie in one another, how
 * long it is, how many digits its powers, factorials and binomials have, and how far its sums go. The verdict on one that cannot
 * must not depend on how fast a machine is.
 */
export function isSmallEnough(formula: string): boolean {
  return (
    formula.length <= LONGEST_CALCULATED &&
    depthOf(formula) <= DEEPEST_BRACKETS &&
    !LONG_LOOP.test(formula) &&
    (formula.match(LOOPS)?.length ?? 0) <= 1 &&
    [...formula.matchAll(FACTORIAL)].every(([, digits]) => Number(digits) <= LARGEST_FACTORIAL) &&
    [...formula.matchAll(BINOMIAL)].every(
      ([, above, below]) => digitsOfBinomial(above, below) <= MOST_DIGITS,
    ) &&
    arePowersSmall(formula)
  );
}

function depthOf(formula: string): number {
  let [depth, deepest] = [0, 0];
  for (const character of formula) {
    if (OPENING.includes(character)) deepest = Math.max(deepest, ++depth);
    else if (CLOSING.includes(character)) depth--;
  }
  return deepest;
}

function digitsOfBinomial(above = '', below = ''): number {
  return Math.min(Number(below), Math.abs(Number(above) - Number(below))) * above.length;
}

/** Powers of numbers are worked out from the inside, those that are small to their value, until one is too large or none is left. */
function arePowersSmall(formula: string): boolean {
  let rest = formula;
  for (let found = POWER_OF_NUMBERS.exec(rest); found; found = POWER_OF_NUMBERS.exec(rest)) {
    const [power, base = '', braced, bare] = found;
    const exponent = Number(braced ?? bare);
    if (exponent > LARGEST_EXPONENT || base.length * exponent > MOST_DIGITS) return false;
    const value = Math.min(Number(base) ** exponent, Number.MAX_SAFE_INTEGER);
    rest = rest.replace(power, String(Math.ceil(value)));
  }
  return [...rest.matchAll(EXPONENT)].every(([, digits]) => Number(digits) <= LARGEST_EXPONENT);
}
