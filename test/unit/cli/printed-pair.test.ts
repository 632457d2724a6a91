import { printPair } from '../../../src/cli/printed-pair';
import type { Output } from '../../../src/cli/output';

function lines(text: string, columns: number | null): string[] {
  const printed: string[] = [];
  const output = {
    isTerminal: columns !== null,
    columns: columns ?? 80,
    line: (line: string) => printed.push(line),
  };
  printPair(output as unknown as Output, { name: 'remark', text, width: 8 });
  return printed;
}

const TEXT = 'three of the examples stand in the training rows too';

test('a text goes on below itself in a terminal, and is one line elsewhere', () => {
  expect(lines(TEXT, 40)).toEqual([
    'remark  three of the examples stand in',
    '        the training rows too',
  ]);
  expect(lines(TEXT, null)).toEqual([`remark  ${TEXT}`]);
});

test('a path stays whole, and a terminal narrower than all wraps by itself', () => {
  const path = `/${'folder/'.repeat(9)}run`;

  expect(lines(path, 40)).toEqual([`remark  ${path}`]);
  expect(lines(TEXT, 9)[0]).toBe('remark  three of the examples');
});
