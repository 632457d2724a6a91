import fc from 'fast-check';
import { RowMemory } from '../../../src/stores/row-memory';

test('knows every count that was added, in whatever order, and no other', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(60)), (counts) => {
      const memory = new RowMemory<{ count: number }>(1);
      for (const count of counts) memory.add(count, { count });

      for (let count = 0; count <= 61; count++) expect(memory.has(count)).toBe(counts.includes(count));
      expect(memory.last()).toEqual(counts.length === 0 ? undefined : { count: counts.at(-1) });
    }),
  );
});

test('forgets all but the newest rows, and never that they were there', () => {
  const memory = new RowMemory<{ name: string }>(2);
  for (const name of ['a', 'b', 'c']) memory.add(name, { name });

  expect(memory.rows()).toEqual([{ name: 'b' }, { name: 'c' }]);
  expect(memory.get('a')).toBeUndefined();
  expect(memory.has('a')).toBe(true);
});
