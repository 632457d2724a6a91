import type { LineSlice } from '../../../../src/evaluation/runner/line-slices';
import { lineSlices } from '../../../../src/evaluation/runner/line-slices';

function linesOf(text: string, stretch = { offset: 0, bytes: Infinity }): { text: string; offset: number }[] {
  const file = Buffer.from(text);
  const readAt = (into: Buffer, position: number) => file.copy(into, 0, position);
  const toText = ({ bytes, start, end, offset }: LineSlice) => ({
    text: bytes.toString('utf8', start, end),
    offset,
  });
  return Array.from(lineSlices({ path: 'lines', mostBytes: Infinity, readAt }, stretch), toText);
}

test('reads lines longer than a slice, and characters that a slice cuts in two', () => {
  const lines = ['a', 'é'.repeat(100_001), '', '\u{1f600}'.repeat(40_000), 'z'.repeat(65_535), 'end'];

  const read = linesOf(lines.map((line) => `${line}\n`).join(''));

  expect(read.map(({ text }) => text)).toEqual(lines);
  let offset = 0;
  for (const [index, line] of lines.entries()) {
    expect(read[index]?.offset).toBe(offset);
    offset += Buffer.byteLength(line) + 1;
  }
});

test('leaves out a last line that was cut off', () => {
  expect(linesOf('one\ntw').map(({ text }) => text)).toEqual(['one']);
  expect(linesOf('')).toEqual([]);
});

test('keeps to its stretch of the file', () => {
  expect(linesOf('one\ntwo\nthree\nfour\n', { offset: 4, bytes: 10 }).map(({ text }) => text)).toEqual([
    'two',
    'three',
  ]);
});
