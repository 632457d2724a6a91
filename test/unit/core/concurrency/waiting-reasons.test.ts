import { WaitingReasons } from '../../../../src/core/concurrency/waiting-reasons';

test('tells the reason of the part that has waited longest, and null once none waits', () => {
  const told: (string | null)[] = [];
  const waits = new WaitingReasons((reason) => told.push(reason));
  const [first, second] = [waits.part(), waits.part()];

  first('a judge is away');
  second('the endpoint is full');
  first(null);
  second(null);

  expect(told).toEqual(['a judge is away', 'a judge is away', 'the endpoint is full', null]);
});

test('a part that did not wait says nothing when it goes on', () => {
  const told: (string | null)[] = [];
  new WaitingReasons((reason) => told.push(reason)).part()(null);

  expect(told).toEqual([]);
});
