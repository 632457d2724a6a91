import fc from 'fast-check';
import { createRandom } from '../../src/core/random';

/** Draws whole numbers below `count`. */
type Draw = (count: number) => number;

export interface MutationSource {
  readonly inputs: readonly Uint8Array[];
  readonly words: readonly string[];
}

const LONGEST = 64 * 1024;
const MOST_CHANGES = 4;

/** Values that parsers were caught with. */
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e300, 2 ** 53, '', 'x', '5', [], {}],
  ...[
    { toString: 1 },
    JSON.parse('{"__proto__":{"a":1}}') as unknown,
    [[[[[[]]]]]],
    'a'.repeat(5000),
    '\ud800',
    '\u202e\u0000\u001b[',
  ],
];
const PIECES = [
  '\u0000',
  '\ufeff',
  '\r\n',
  '"',
  '\\',
  '{',
  ']',
  '<',
  '%',
  '\u{1f600}',
  '9'.repeat(400),
  '('.repeat(300),
];

/** The input of this seed and number, the same on every machine: inputs do not depend on one another. */
export function mutated({ inputs, words }: MutationSource, seed: number): Uint8Array {
  const random = createRandom(seed);
  const draw: Draw = (count) => Math.floor(random() * count);
  let bytes = pick(inputs, draw) ?? new Uint8Array();
  for (let changes = 1 + draw(MOST_CHANGES); changes > 0; changes--) {
    const change = pick(CHANGES, draw) ?? flip;
    bytes = change(bytes, { draw, other: pick(inputs, draw) ?? bytes, words });
    if (bytes.length > LONGEST) bytes = bytes.subarray(0, LONGEST);
  }
  return bytes;
}

/** A number of its own for each input of a target. */
export function seedOf(seed: number, name: string, index: number): number {
  let mixed = seed;
  for (const character of `${name}/${index}`)
    mixed = Math.imul(mixed ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return mixed;
}

interface Aids {
  readonly draw: Draw;
  readonly other: Uint8Array;
  readonly words: readonly string[];
}

type Change = (bytes: Uint8Array, aids: Aids) => Uint8Array;

const flip: Change = (bytes, { draw }) => {
  const copy = Uint8Array.from(bytes);
  if (copy.length > 0) copy[draw(copy.length)] = pick([0, 0xff, 0x7f, 0x80, draw(256)], draw) ?? 0;
  return copy;
};
const cut: Change = (bytes, { draw }) => bytes.subarray(0, draw(bytes.length + 1));
const drop: Change = (bytes, { draw }) => {
  const at = draw(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + draw(16))]);
};
const insert: Change = (bytes, { draw, words }) => {
  const at = draw(bytes.length + 1);
  const piece = Buffer.from(pick([...PIECES, ...words, ...words], draw) ?? '');
  return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
};
const repeat: Change = (bytes, { draw }) => {
  const at = draw(bytes.length + 1);
  const part = bytes.subarray(at, at + 1 + draw(64));
  return Buffer.concat([
    bytes.subarray(0, at),
    ...Array.from({ length: 2 + draw(200) }, () => part),
    bytes.subarray(at),
  ]);
};
const splice: Change = (bytes, { draw, other }) =>
  Buffer.concat([bytes.subarray(0, draw(bytes.length + 1)), other.subarray(draw(other.length + 1))]);

/** Changes a value, a key or a member of a JSON text, or of one of its lines; as it is where it is no JSON. */
const changeJson: Change = (bytes, { draw, words }) => {
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  const isWhole = parsed(lines.join('\n')) !== undefined;
  const at = isWhole ? 0 : draw(lines.length);
  const value = parsed(isWhole ? lines.join('\n') : (lines[at] ?? ''));
  if (value === undefined) return bytes;
  const changed = JSON.stringify(changedValue(value, draw, words));
  if (isWhole) return Buffer.from(changed);
  return Buffer.from(lines.map((line, index) => (index === at ? changed : line)).join('\n'));
};

const CHANGES: readonly Change[] = [
  flip,
  cut,
  drop,
  insert,
  repeat,
  splice,
  changeJson,
  changeJson,
  changeJson,
  changeJson,
];

function changedValue(value: unknown, draw: Draw, words: readonly string[]): unknown {
  const isHolder = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  if (!isHolder || draw(6) === 0) return newValue(value, draw, words);
  const entries = Object.entries(value);
  const at = draw(entries.length);
  const changed = entries.flatMap(([key, inner], index): [string, unknown][] => {
    if (index !== at) return [[key, inner]];
    const kind = draw(12);
    if (kind === 0) return [];
    if (kind === 1)
      return [
        [key, inner],
        [`${key}2`, inner],
      ];
    if (kind === 2)
      return [[pick(['__proto__', 'toString', 'constructor', 'length', ...words], draw) ?? '', inner]];
    return [[key, changedValue(inner, draw, words)]];
  });
  return Array.isArray(value) ? changed.map(([, inner]) => inner) : Object.fromEntries(changed);
}

function newValue(value: unknown, draw: Draw, words: readonly string[]): unknown {
  const kind = draw(4);
  if (kind === 0) return fc.sample(fc.jsonValue({ maxDepth: 3 }), { seed: draw(2 ** 31), numRuns: 1 })[0];
  if (kind === 1 && words.length > 0) return pick(words, draw);
  if (kind === 2 && typeof value === 'string')
    return Buffer.from(insert(Buffer.from(value), { draw, other: new Uint8Array(), words })).toString('utf8');
  return pick(VALUES, draw);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pick<Item>(items: readonly Item[], draw: Draw): Item | undefined {
  return items[draw(items.length)];
}
