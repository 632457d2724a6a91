import { z } from 'zod';
import { CompletionBody } from '../../../../src/server/gateway/completion-schemas';
import { TokenList } from '../../../../src/server/gateway/token-list';
import { parsePart } from '../../../../src/server/http/parse-part';

const tell = (prompt: unknown) => () =>
  parsePart(CompletionBody, { model: 'm', prompt }, { part: 'body' }).prompt;

test.each([[[0]], [[1, 2, 3]], [[[1], [2, 3]]]])('%j is taken as it is', (prompt) => {
  expect(tell(prompt)()).toEqual(prompt);
});

test.each([
  ['-1', [1, -1, 'x'], 'prompt.1 (body): Too small: expected number to be >=0'],
  ['half a number', [1, 0.5], 'prompt.1 (body): Invalid input: expected int, received number'],
  ['a text among tokens', [1, 'x'], 'prompt.1 (body): Invalid input: expected number, received string'],
  ['a number beyond the exact ones', [2 ** 60], 'prompt.0 (body): Too big'],
  ['nothing', [], 'Too small: expected array to have >=1 items'],
  ['-1 in a second list', [[1], [-1]], 'prompt.1.0 (body): Too small'],
  ['a record', {}, 'expected string, received object; Invalid input: expected array'],
])('%s is told with its place', (_, prompt, message) => {
  expect(tell(prompt)).toThrow(message);
});

test('no token after a fault is looked at', () => {
  const list = [1, 'x', 2];
  Object.defineProperty(list, 2, {
    get: () => {
      throw new Error('looked at');
    },
  });

  expect(TokenList.safeParse(list).error?.issues).toHaveLength(1);
});

test('its description is that of a list of tokens', () => {
  const schema = z.toJSONSchema(TokenList, { io: 'input', unrepresentable: 'any' });

  expect(schema).toMatchObject({ type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 });
});
