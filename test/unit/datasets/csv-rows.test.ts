import { readCsvRows } from '../../../src/datasets/csv-rows';

function read(text: string): unknown[] {
  return readCsvRows('rows.csv', Buffer.from(text)).map((row) => ('value' in row ? row.value : row));
}

test.each([
  [
    'plain fields',
    'a,b\n1,2\n3,4\n',
    [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ],
  ],
  ['no newline at the end', 'a,b\n1,2', [{ a: '1', b: '2' }]],
  ['an empty last field', 'a,b\n1,', [{ a: '1', b: '' }]],
  ['line ends of Windows and a byte order mark', '\ufeffa,b\r\n1,2\r\n', [{ a: '1', b: '2' }]],
  [
    'commas, quotes and line breaks in quotes',
    'a,b\n"1, ""one""\nof two",2\n',
    [{ a: '1, "one"\nof two', b: '2' }],
  ],
  ['blank lines', 'a,b\n\n1,2\n\n', [{ a: '1', b: '2' }]],
  ['names alone', 'a,b\n', []],
])('reads %s', (_, text, rows) => {
  expect(read(text)).toEqual(rows);
});

test('reads a quoted field of any length', () => {
  const words = 'y'.repeat(40_000_000);

  expect(read(`a\n"${words}"\n`)).toEqual([{ a: words }]);
});

test('names a record with too few fields', () => {
  expect(read('a,b\n1\n2,3\n')).toEqual([
    { line: 2, problem: '1 fields under 2 names.' },
    { a: '2', b: '3' },
  ]);
});

test.each(['a,b\n1,"2', 'a,b\n1,2"3\n'])('refuses a stray quote', (text) => {
  expect(() => read(text)).toThrow(/line 2 has a stray quote/);
});

test.each([
  ['a;b\n"1";2\n', 'semicolons', "sep=';'"],
  ['a\tb\n1\t2\n', 'tabs', String.raw`sep='\t'`],
])('says which other separator a file has: %j', (text, called, remedy) => {
  expect(() => read(text)).toThrow(`its columns are separated by ${called}, and CSV is read with commas`);
  expect(() => read(text)).toThrow(remedy);
});

test('a semicolon beside commas is part of a name', () => {
  expect(read('a;b,c\n1;2,3\n')).toEqual([{ 'a;b': '1;2', c: '3' }]);
});

test('a record is named by the line that it begins in', () => {
  expect(read('a,b\n"1\r\n2\n3",4\n\n5\n')).toEqual([
    { a: '1\r\n2\n3', b: '4' },
    { line: 6, problem: '1 fields under 2 names.' },
  ]);
  expect(() => read('a,b\n"1\n2",3\n4,"5\n')).toThrow(/line 4 has a stray quote/);
});

test('of two columns of one name none is dropped: the file is refused', () => {
  expect(() => read('a,output,output\n1,2,3\n')).toThrow(
    'rows.csv: two columns are called "output", of which only the last would count.',
  );
});

test('bytes that are no UTF-8 text are refused, as in every other file', () => {
  expect(() => readCsvRows('rows.csv', Buffer.from('a,b\nZ\xfcrich,1\n', 'latin1'))).toThrow(
    /^rows\.csv is not UTF-8 text \(line \d\)\./,
  );
});
