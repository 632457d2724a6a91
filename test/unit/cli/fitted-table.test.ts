import { fitTable } from '../../../src/cli/fitted-table';

const HEADING = ['run', 'address', 'what'];
const widthOf = (rows: readonly (readonly string[])[]) =>
  HEADING.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0))).reduce(
    (sum, width) => sum + width,
    2 * (HEADING.length - 1),
  );

test('what fits is left as it is', () => {
  const rows = [['one', 'tinker://a/1', 'done']];

  expect(fitTable(HEADING, rows, 80)).toEqual({ heading: [HEADING], rows });
});

test('the widest columns give way: words go on below, an address loses its middle', () => {
  const address = 'tinker://0f3c2a4e-1111-2222-3333-444455556666:train:0/weights/step-000120';
  const rows = [
    ['one', address, 'it waits for a worker that is not there'],
    ['two', 'tinker://a/1', 'done'],
  ];

  const { rows: fitted } = fitTable(HEADING, rows, 60);

  expect(widthOf(fitted)).toBeLessThanOrEqual(60);
  expect(fitted[0]?.[1]).toMatch(/^tinker:\/\/.+….+step-000120$/);
  const told = fitted.slice(0, -1).map((row) => row[2]);
  expect(told.join(' ').trim()).toBe('it waits for a worker that is not there');
  expect(fitted[1]?.slice(0, 2)).toEqual(['', '']);
  expect(fitted.at(-1)).toEqual(['two', 'tinker://a/1', 'done']);
});

test('a terminal of no width ends', () => {
  expect(fitTable(HEADING, [['abcdefghij', 'b', 'c']], 1).rows[0]?.[0]).toBe('abc…ij');
});

test('a heading that is broader than what is below it goes on below, too', () => {
  const { heading } = fitTable(['run', 'model or checkpoint', 'started (UTC)'], [['a', 'm', '1']], 27);

  expect(heading).toEqual([
    ['run', 'model or', 'started'],
    ['', 'checkpoint', '(UTC)'],
  ]);
});
