import { Slots } from '../../../../src/core/concurrency/slots';

test('runs no more than its limit at once, in order, and goes on after a failure', async () => {
  const slots = new Slots(2);
  const log: string[] = [];
  const finish: (() => void)[] = [];
  const work = (name: string) =>
    slots.run(async () => {
      log.push(name);
      await new Promise<void>((done) => finish.push(done));
      if (name === 'a') throw new Error('a failed');
    });
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };

  const all = Promise.allSettled(['a', 'b', 'c', 'd'].map(work));
  await settle();
  const atFirst = [...log];
  finish[0]?.();
  await settle();
  const afterOne = [...log];
  finish.slice(1).forEach((done) => {
    done();
  });
  await settle();
  finish.at(-1)?.();
  const outcomes = await all;

  expect(atFirst).toEqual(['a', 'b']);
  expect(afterOne).toEqual(['a', 'b', 'c']);
  expect(log).toEqual(['a', 'b', 'c', 'd']);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
});
