import { isValidName, validateName } from '../../../src/core/names';

function refusalOf(name: unknown): unknown {
  try {
    return validateName('Run', name);
  } catch (error) {
    return error;
  }
}

test.each([
  ['null', null, 'Run null is not a valid name. Use 1 to 100'],
  ['nothing', undefined, 'Run undefined is not a valid name.'],
  ['a number', 5, 'Run 5 is not a valid name.'],
  ['a BigInt', 5n, 'Run of type bigint is not a valid name.'],
  ['an object', {}, 'Run {} is not a valid name.'],
  ['a list of one name', ['a'], 'Run ["a"] is not a valid name.'],
  ['a function', () => undefined, 'Run of type function is not a valid name.'],
  ['a text that reorders the line', 'a\u202eb\u001b[2J', 'Run "a\\u202eb\\x1b[2J" is not a valid name.'],
])('%s is no name, and is told as it is', (_, name, said) => {
  expect(refusalOf(name)).toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining(said) as string,
  });
  expect(isValidName(name)).toBe(false);
});

test('a name is given back', () => {
  expect(validateName('Run', 'my-run.2')).toBe('my-run.2');
});
