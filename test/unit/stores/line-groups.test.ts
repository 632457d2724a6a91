import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLineGroups } from '../../../src/stores/line-groups';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-lines-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function groupsOf(text: string): (readonly string[])[] {
  const file = join(folder, 'lines');
  writeFileSync(file, text);
  const descriptor = openSync(file, 'r');
  try {
    return [...readLineGroups(descriptor, file)];
  } finally {
    closeSync(descriptor);
  }
}

test.each([
  ['an empty file', []],
  ['one line', ['one']],
  ['a line longer than what is read at once', ['x', 'y'.repeat(200_000), 'z']],
  ['characters of several bytes on every border', Array.from({ length: 40_000 }, (_, at) => `${at}ä€😀`)],
])('reads %s whole', (_what, lines) => {
  expect(groupsOf(lines.join('\n')).flat()).toEqual(lines);
  expect(groupsOf(lines.map((line) => `${line}\n`).join('')).flat()).toEqual(lines);
});

test('reads a long file in parts', () => {
  const groups = groupsOf('{"step":1}\n'.repeat(100_000));

  expect(groups.length).toBeGreaterThan(10);
  expect(Math.max(...groups.map(({ length }) => length))).toBeLessThan(10_000);
});

test('a line in many pieces is joined once', () => {
  const concat = jest.spyOn(Buffer, 'concat');
  const length = 4 * 1024 * 1024;

  const lines = groupsOf('x'.repeat(length)).flat();

  const joined = concat.mock.calls.flatMap(([pieces]) => pieces.map((piece) => piece.length));
  concat.mockRestore();
  expect(lines.map((line) => line.length)).toEqual([length]);
  expect(joined.reduce((sum, bytes) => sum + bytes, 0)).toBe(length);
});
