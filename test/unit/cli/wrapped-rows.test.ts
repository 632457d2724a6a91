import { wrapRows } from '../../../src/cli/wrapped-rows';

test('goes on with the last cell below itself, within the columns', () => {
  const rows = [['gsm8k', '1', 'Grade-school word problems; 1,319 examples of the test split']];

  const wrapped = wrapRows(rows, { heading: ['benchmark', 'version', 'asks'], columns: 50 });

  expect(wrapped).toEqual([
    ['gsm8k', '1', 'Grade-school word problems;'],
    ['', '', '1,319 examples of the test'],
    ['', '', 'split'],
  ]);
});

test('cuts no word, however narrow the terminal', () => {
  expect(wrapRows([['a', 'x'.repeat(60)]], { heading: ['name', 'asks'], columns: 10 })).toEqual([
    ['a', 'x'.repeat(60)],
  ]);
});
