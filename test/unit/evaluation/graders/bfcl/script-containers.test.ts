import { entriesOf, nestedLists } from '../../../../../src/evaluation/graders/bfcl/script-containers';
import { withoutBlanks } from '../../../../../src/evaluation/graders/bfcl/foreign-source';

/** The official converter's, which say what is right and take too long. */
const NESTED = /^(?:\[\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*\]|new\s+Array\(\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*\))/;
const ENTRIES = /([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)/g;

/** All texts of up to `length` of the pieces. */
function textsOf(pieces: readonly string[], length: number): string[] {
  if (length === 0) return [''];
  const shorter = textsOf(pieces, length - 1);
  return [...new Set([...shorter, ...shorter.flatMap((text) => pieces.map((piece) => text + piece))])];
}

test.each(['[[', '[ [', '[\n[', 'new Array([', '[', 'new  Array( ['])(
  'lists in a list are found as the official expression finds them, behind %j',
  (opening) => {
    const texts = textsOf([']', ',[', ',', '[', ' ', 'a', '\n', ')'], 5).map((rest) => opening + rest);
    expect(texts.filter((text) => nestedLists(text) !== (NESTED.exec(text)?.[0] ?? null))).toEqual([]);
  },
);

test('entries are found as the official expression finds them', () => {
  const official = (text: string) =>
    [...text.matchAll(ENTRIES)].map(([, name = '', value = '']) => [name.trim(), value.trim()]);
  const texts = textsOf([':', ',', ' ', 'a', 'b:', ', '], 6);
  const differing = texts.filter(
    (text) => JSON.stringify(entriesOf(text)) !== JSON.stringify(official(text)),
  );
  expect(differing).toEqual([]);
});

test('a hundred thousand lists, entries and blanks are read in one go', () => {
  expect(nestedLists(`[${'[1],'.repeat(100_000)}x]`)).toBeNull();
  expect(nestedLists(`[[1]${',[1]'.repeat(100_000)}]`)).toHaveLength(400_005);
  expect(entriesOf('a: 1, '.repeat(100_000))).toHaveLength(100_000);
  expect(entriesOf(`a: 1,${' '.repeat(500_000)},`)).toEqual([['a', `1,${' '.repeat(500_000)},`]]);
});

test('types in angle brackets that do not end are looked for once', () => {
  const text = `${'('.repeat(90)}${'a<'.repeat(15_000)}${')'.repeat(90)}`;
  expect(withoutBlanks(text)).toBe(text);
  expect(withoutBlanks('Map<String, List<int[]>> a < b')).toBe('Map<String,List<int[]>>a<b');
});
