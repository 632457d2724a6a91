import { createPermitPool, Permits } from '../../../../src/evaluation/runner/permits';

test('serves lower ranks first, and within a rank in order', async () => {
  const permits = new Permits(1);
  const served: string[] = [];
  const want = async (name: string, rank: number) => {
    await permits.take(rank);
    served.push(name);
  };
  expect(permits.take(0)).toBeNull();
  const all = [want('late one', 2), want('early one', 1), want('late two', 2), want('early two', 1)];

  for (let count = 0; count < 4; count++) permits.give();
  await Promise.all(all);

  expect(served).toEqual(['early one', 'early two', 'late one', 'late two']);
});

test('has as many places as its limit, and a place given back is free', () => {
  const permits = new Permits(2);

  expect([permits.take(0), permits.take(5)]).toEqual([null, null]);
  permits.give();
  expect(permits.take(9)).toBeNull();
  expect(permits.take(9)).not.toBeNull();
});

test('shares places by what they are for and how many are wanted', () => {
  const permitsOf = createPermitPool();

  expect(permitsOf('model', 4)).toBe(permitsOf('model', 4));
  expect(permitsOf('model', 4)).not.toBe(permitsOf('other', 4));
  expect(permitsOf('model', 4)).not.toBe(permitsOf('model', 8));
});
