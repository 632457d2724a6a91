import { deepCases, propertyRuns } from '../../setup/deep-cases';

const CASES = Array.from({ length: 40 }, (_, index) => index);

afterEach(() => {
  delete process.env['EVERSTEP_DEEP_SHARE'];
  delete process.env['EVERSTEP_DEEP_SEED'];
});

function draw(share: string, seed: string): number[] {
  process.env['EVERSTEP_DEEP_SHARE'] = share;
  process.env['EVERSTEP_DEEP_SEED'] = seed;
  return deepCases(CASES);
}

test('runs every case in its order where nothing is said', () => {
  expect(deepCases(CASES)).toEqual(CASES);
});

test('draws as many as the share says, in their order, and the same again by the same seed', () => {
  const drawn = draw('0.1', '3');

  expect(drawn).toHaveLength(4);
  expect(drawn).toEqual([...drawn].sort((left, right) => left - right));
  expect(draw('0.1', '3')).toEqual(drawn);
  expect(draw('0.1', '4')).not.toEqual(drawn);
});

test('reaches every case by one seed or another', () => {
  const reached = new Set(Array.from({ length: 200 }, (_, seed) => draw('0.1', String(seed))).flat());

  expect(reached.size).toBe(CASES.length);
});

test('draws at least one case of a short matrix', () => {
  process.env['EVERSTEP_DEEP_SHARE'] = '0.1';

  expect(deepCases(['only'])).toEqual(['only']);
});

test('tries a property a fifth as often outside of the deep suite, and in it all times with its seed', () => {
  expect(propertyRuns(400)).toEqual({ numRuns: 80 });
  process.env['EVERSTEP_DEEP_SEED'] = '7';
  expect(propertyRuns(400)).toEqual({ numRuns: 400, seed: 7 });
});
