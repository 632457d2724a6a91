/** What is wrong with a value that is called so, in words; null where nothing is. */
export type Shape = (value: unknown, name: string) => string | null;

type Fields = Readonly<Record<string, Shape>>;

export const anything: Shape = () => null;
export const words = shapeOf('a text', (value) => typeof value === 'string');
export const number = shapeOf('a number', Number.isFinite);
export const boolean = shapeOf('true or false', (value) => typeof value === 'boolean');
export const object = shapeOf('an object', isObject);

/** A name that the server is told, which takes no more than some hundred bytes. */
export function nameUpTo(most: number): Shape {
  const isName = shapeOf(
    `a text of 1 to ${most} letters`,
    (value) => typeof value === 'string' && value.length > 0 && value.length <= most,
  );
  return (value, name) => words(value, name) ?? isName(value, name);
}

export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER): Shape {
  const bounds = most === Number.MAX_SAFE_INTEGER ? `, ${least} or more` : ` from ${least} to ${most}`;
  return shapeOf(
    `a whole number${bounds}`,
    (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most,
  );
}

/** That a timer can take. */
export function seconds(least: number, most: number): Shape {
  return shapeOf(
    `a number of seconds from ${least} to ${most}`,
    (value) => typeof value === 'number' && value >= least && value <= most,
  );
}

export function oneOf(values: readonly string[]): Shape {
  return shapeOf(
    `one of ${values.join(', ')}`,
    (value) => typeof value === 'string' && values.includes(value),
  );
}

export function noneOf(values: readonly string[], what: string): Shape {
  return shapeOf(what, (value) => typeof value === 'string' && !values.includes(value));
}

export function both(first: Shape, second: Shape): Shape {
  return (value, name) => first(value, name) ?? second(value, name);
}

export function optional(shape: Shape): Shape {
  return (value, name) => (value === undefined ? null : shape(value, name));
}

export function nullable(shape: Shape): Shape {
  return (value, name) => (value === null ? null : shape(value, name));
}

export function listOf(shape: Shape, most = Infinity): Shape {
  return (value, name) => {
    if (!Array.isArray(value)) return wrong(name, 'a list');
    if (value.length > most) return wrong(name, `a list of at most ${most}`);
    return firstOf(value.entries(), name, () => shape);
  };
}

/** Of an object with two lists, each of one with each of the other. */
export function pairsOf([first, second]: readonly [string, string], most: number): Shape {
  return (value, name) => {
    const fields = new Map<string, unknown>(isObject(value) ? Object.entries(value) : []);
    const lengths = [fields.get(first), fields.get(second)].map((list) =>
      Array.isArray(list) ? list.length : 0,
    );
    return lengths.reduce((product, length) => product * length, 1) > most
      ? wrong(name, `at most ${most} of "${first}" times "${second}"`)
      : null;
  };
}

/** Fields that are not named are those of other releases. */
export function objectWith(fields: Fields): Shape {
  return (value, name) => {
    if (!isObject(value)) return wrong(name, 'an object');
    const present = new Map<string, unknown>(Object.entries(value));
    const named = Object.keys(fields).map((key) => [key, present.get(key)] as const);
    return firstOf(named, name, (key) => fields[key] ?? anything);
  };
}

export function recordOf(shape: Shape): Shape {
  return (value, name) =>
    isObject(value) ? firstOf(Object.entries(value), name, () => shape) : wrong(name, 'an object');
}

function firstOf<Key extends string | number>(
  entries: Iterable<readonly [Key, unknown]>,
  name: string,
  shapeAt: (key: Key) => Shape,
): string | null {
  for (const [key, value] of entries) {
    const problem = shapeAt(key)(value, name === '' ? String(key) : `${name}.${key}`);
    if (problem !== null) return problem;
  }
  return null;
}

function shapeOf(what: string, isOne: (value: unknown) => boolean): Shape {
  return (value, name) => (isOne(value) ? null : wrong(name, what));
}

const MOST_SHOWN = 120;

function wrong(name: string, what: string): string {
  return name === '' ? 'it is no object' : `${JSON.stringify(name.slice(0, MOST_SHOWN))} has to be ${what}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
