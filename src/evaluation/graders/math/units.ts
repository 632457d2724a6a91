/** A quantity without its unit, and the unit in one spelling; null where there is none. */
export interface Quantity {
  readonly value: string;
  readonly unit: string | null;
  readonly isPercent: boolean;
}

const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['centimeter', 'cm'],
  ['centimetre', 'cm'],
  ['millimeter', 'mm'],
  ['kilometer', 'km'],
  ['kilometre', 'km'],
  ['metre', 'm'],
  ['meter', 'm'],
  ['gram', 'g'],
  ['kilogram', 'kg'],
  ['litre', 'l'],
  ['liter', 'l'],
  ['second', 's'],
  ['sec', 's'],
  ['min', 'minute'],
  ['hr', 'hour'],
  ['h', 'hour'],
  ['feet', 'foot'],
  ['ft', 'foot'],
  ['inche', 'inch'],
  ['deg', 'degree'],
  ['°', 'degree'],
  ['buck', 'dollar'],
  ['usd', 'dollar'],
  ['mile per hour', 'mph'],
  ['mi/h', 'mph'],
  ['mi/hr', 'mph'],
  ['km/hr', 'km/h'],
  ['kmh', 'km/h'],
  ['kph', 'km/h'],
  ['m/sec', 'm/s'],
  ['hertz', 'hz'],
]);

/** Words behind a number that change its value, take it back or are not a unit at all. */
const NO_UNIT = new RegExp(
  `^(?:${[
    'ten|hundred|thousand|million|billion|trillion|dozen|half|halve|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|twelfth|hundredth|thousandth',
    'squared|cubed|root|power|exponent|log|logarithm|factorial|doubled|double|twice|tripled|triple|quadrupled|halved|negative|negated|inverse|inverted|reciprocal|opposite|rounded|remainder',
    'plus|minus|times|over|mod|modulo|base|less|more|fewer|greater|least|most|choose|through|than|into|divided|multiplied|raised|pi|infinity',
    'not|no|never|nor|neither|wrong|incorrect|false|untrue|invalid|except|excluding|instead|but|rejected|kidding|joking|joke|jk|lol|oops|wait|sorry|maybe|perhaps|possibly|probably|approximately|approx|about|roughly|nearly|almost|guess|etc|etcetera|ish',
    'and|or|to|by|of|where|when|if|for|with|is|are|in|at|on|as|from|under|above|below|beyond|between',
  ].join('|')})s?$`,
);
/** Symbols of one letter: others are variables. */
const LETTER_OF_UNIT = /^[mghslLNJWVAKCFT]$/;

/** One of these by another, where no formula has such letters: any other "2 a/b" is a quotient. */
const QUOTIENT = [
  String.raw`(?:[ckm]?m|ft|mi|m?L|rad|rev)\/(?:s|sec|min)`,
  String.raw`(?:[ck]m|mi)\/(?:h|hr)`,
  String.raw`(?:m?g|kg)\/(?:[cd]?m|m?L|mol)`,
  String.raw`(?:mol|kJ|J)\/(?:L|mol)`,
].join('|');
const UNIT = new RegExp(
  String.raw`^(?:(.*?[\d)}])(?:\s*°\s*([CF])?|\s+([a-zA-Z]{2,}(?:\s+[a-zA-Z]{2,}){0,3}|${QUOTIENT})|([a-zA-Z]{2,12}(?:\/[a-z]{1,3})?))|(.*?(?:[\d)}]|\\pi|[a-zA-Z]))\s*\\text\s*\{((?:[^{}]|\{[^{}]*\})*)\})\s*(?:\^\{?([23])\}?)?$`,
);
/** "(mod 7)" says in which numbers a value is meant, as a unit does. */
const MODULUS =
  /^(.*\d)\s*(?:\\pmod\s*\{?\s*(\d+)\s*\}?|\(\s*\\?(?:text\s*\{\s*)?mod\s*\}?\s*(\d+)\s*\)|\\text\s*\{\s*\(\s*mod\s*(\d+)\s*\)\s*\})$/;
const TRIGONOMETRY = /\\(?:arc)?(?:sin|cos|tan|cot|sec|csc)/;
/** Written directly behind the number, only these are units: 2ab is a product. */
const ATTACHED =
  /^(?:cm|mm|km|kg|mg|ml|ft|mph|[kMG]?Hz|[hkM]Pa|mol|kWh|km\/hr?|[ck]m\/s|inches|feet|hours|minutes|seconds|degrees)$/;
/** Of symbols that are otherwise the same in either case: 5 MHz is not 5 mHz. */
const MEGA = /^M(?=(?:Hz|W|J|Pa|V|N|A|eV)$)/;

/** Takes a unit or percent sign from the end of a quantity. */
export function splitUnit(text: string): Quantity {
  if (text.endsWith('%')) return { value: text.slice(0, -1).trim(), unit: null, isPercent: true };
  const [, residue, ...moduli] = MODULUS.exec(text) ?? [];
  if (residue !== undefined)
    return { value: residue.trim(), unit: `mod ${moduli.filter(Boolean).join('')}`, isPercent: false };
  // There the degrees belong to an angle.
  if (TRIGONOMETRY.test(text)) return withoutUnit(text);
  const [, bare, scale, apart, attached, before, inText, power] = UNIT.exec(text) ?? [];
  const value = bare ?? before;
  const unit = unitOf({ scale, apart, attached, inText, power });
  return value === undefined || unit === null
    ? withoutUnit(text)
    : { value: value.trim(), unit, isPercent: false };
}

/** From the groups of UNIT behind the value. */
function unitOf({
  scale,
  apart,
  attached,
  inText,
  power,
}: Readonly<Record<string, string | undefined>>): string | null {
  if (attached !== undefined && !ATTACHED.test(attached)) return null;
  // A word of text is a preposition, unless it is all there is of it.
  if (inText?.trim() === 'in') return spell('inch', power);
  return spell(inText ?? apart ?? attached ?? `°${scale ?? ''}`, power);
}

function withoutUnit(text: string): Quantity {
  return { value: text, unit: null, isPercent: false };
}

function spell(name: string, power: string | undefined): string | null {
  const written = name
    .trim()
    .replace(/[{}]/g, '')
    .replace(/\.(?!\d)/g, '');
  const words = written
    .replace(MEGA, 'mega')
    .toLowerCase()
    .split(/[\s-]+/);
  if (!written.split(/[\s-]+/).every(isWordOfUnit)) return null;
  const [first = '', ...others] = words;
  const exponents: Readonly<Record<string, string>> = { square: '2', sq: '2', cubic: '3' };
  const stated = exponents[first];
  const base = (stated === undefined ? words : others).map(singular).join(' ');
  // "5 square"
  if (base === '') return null;
  const exponent = power ?? stated;
  return exponent === undefined ? base : `${base}^${exponent}`;
}

function isWordOfUnit(written: string): boolean {
  const word = written.toLowerCase();
  if (/^[a-z]$/.test(word)) return LETTER_OF_UNIT.test(written);
  return /^[a-z°][a-z°/^\d]*$/.test(word) && !NO_UNIT.test(word);
}

function singular(word: string): string {
  const known = SPELLINGS.get(word);
  if (known !== undefined) return known;
  const stem = word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
  return SPELLINGS.get(stem) ?? stem;
}

/** "unit", "square units" and the like say nothing; an absent unit is not another one. */
export function areUnitsCompatible(a: string | null, b: string | null): boolean {
  return a === null || b === null || a === b;
}
