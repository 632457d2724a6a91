import { z } from 'zod';
import { untilFault } from '../../../../src/server/http/until-fault';

function counting() {
  const seen: unknown[] = [];
  const entry = z.unknown().refine((value) => {
    seen.push(value);
    return typeof value === 'number';
  }, 'is no number');
  return { seen, entry };
}

test.each([
  ['a list', (entry: z.ZodType) => untilFault(z.array(entry)), [1, ...Array<string>(1000).fill('x')], [1]],
  [
    'a record',
    (entry: z.ZodType) => untilFault(z.record(z.string(), entry)),
    Object.fromEntries([['k', 1], ...Array.from({ length: 1000 }, (_, index) => [`k${index}`, 'x'])]),
    ['k0'],
  ],
])('%s is looked at as far as its first fault, and that one is told', (_, schemaOf, value, place) => {
  const { seen, entry } = counting();

  const { error } = schemaOf(entry).safeParse(value);

  expect(error?.issues).toMatchObject([{ path: place, message: 'is no number' }]);
  expect(seen.length).toBeLessThan(6);
});

test('what fits is read as it is, and the rules for the whole hold', () => {
  const list = untilFault(z.array(z.coerce.number()).min(1).max(3));

  expect(list.parse(['1', 2])).toEqual([1, 2]);
  expect(untilFault(z.record(z.string(), z.string())).parse({ a: 'b' })).toEqual({ a: 'b' });
  expect(() => list.parse([])).toThrow('Too small');
  expect(() => list.parse([1, 2, 3, 4])).toThrow('Too big');
  expect(() => list.parse('x')).toThrow('expected array');
});

test.each([
  ['a list', (entry: z.ZodType) => untilFault(z.array(entry), 3), [1, 2, 3, 4]],
  ['a record', (entry: z.ZodType) => untilFault(z.record(z.string(), entry), 3), { a: 1, b: 2, c: 3, d: 4 }],
])('%s of too many entries is not looked at', (_, schemaOf, value) => {
  const { seen, entry } = counting();

  const { error } = schemaOf(entry).safeParse(value);

  expect(error?.issues).toMatchObject([{ message: 'has 4 entries; at most 3 are taken' }]);
  expect(seen).toEqual([]);
});
