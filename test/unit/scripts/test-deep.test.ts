interface TestDeepScript {
  readDeepOptions: (args: string[]) => { share: number; seed: number; patterns: string[] };
}

const { readDeepOptions } = jest.requireActual<TestDeepScript>('../../../scripts/test-deep.js');

test('draws the share that is asked for, by the seed that is asked for', () => {
  const options = readDeepOptions(['--share', '0.1', '--seed', '7', 'completions']);

  expect(options).toEqual({ share: 0.1, seed: 7, patterns: ['completions'] });
});

test('runs all cases where no share is asked for', () => {
  expect(readDeepOptions([])).toEqual({ share: 1, seed: expect.any(Number) as unknown, patterns: [] });
});

test.each([
  ['--share', '0'],
  ['--share', '1.5'],
  ['--share', 'some'],
  ['--seed', '0.5'],
  ['--seed', 'some'],
])('refuses %s %s by name', (name, value) => {
  expect(() => readDeepOptions([name, value])).toThrow(`${name} is "${value}"`);
});
