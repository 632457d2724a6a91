import { TakenText } from '../../../src/renderers/taken-text';

test('what is taken is found wherever it was added, and what only touches it is not', () => {
  const taken = new TakenText([
    { start: 10, end: 12 },
    { start: 2, end: 5 },
  ]);
  taken.add({ start: 5, end: 6 });
  taken.add({ start: 7, end: 7 });

  expect(taken.overlapping(0, 2)).toBeNull();
  expect(taken.overlapping(6, 10)).toBeNull();
  expect(taken.overlapping(0, 3)).toEqual({ start: 2, end: 5 });
  expect(taken.overlapping(5, 11)).toEqual({ start: 5, end: 6 });
  expect(taken.overlapping(11, 20)).toEqual({ start: 10, end: 12 });
  expect(taken.overlapping(12, 20)).toBeNull();
  expect(taken.end).toBe(12);
});

test('words that were looked for are not looked for again before where they were found', () => {
  const taken = new TakenText([]);
  taken.add({ start: 3, end: 4 }, 'f');
  taken.add({ start: 8, end: 9 }, 'f');

  expect(taken.passedBy('f')).toBe(9);
  expect(taken.passedBy('g')).toBeNull();
});
