import { z } from 'zod';
import { parsePart } from '../../../../src/server/http/parse-part';

const Query = z.strictObject({ from: z.coerce.number().int().min(0).optional() });

test.each([
  [{ from: 'abc' }, 'from (query): expected a number, got "abc".'],
  [{ form: '3' }, 'The query: Unrecognized key: "form". Known: from.'],
])('says what was sent in a query that is refused: %j', (query, message) => {
  expect(() => parsePart(Query, query, { part: 'query' })).toThrow(message);
  expect(parsePart(Query, { from: '3' }, { part: 'query' })).toEqual({ from: 3 });
});
