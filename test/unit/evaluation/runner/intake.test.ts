import { Intake } from '../../../../src/evaluation/runner/intake';
import type { ExampleUnit } from '../../../../src/evaluation/runner/shard-task';

function unit(id: string): ExampleUnit {
  return {
    example: { id, messages: [], target: '' },
    sampleIndex: 0,
    keys: { example: id, sample: id, grade: id },
  };
}

test('lets a unit in when one that was ready has its place, once for each', async () => {
  const intake = new Intake(1);
  const [first, second] = [unit('first'), unit('second')];
  expect(intake.whenRoom()).toBeNull();
  intake.begin(first);
  const woken: number[] = [];
  void intake.whenRoom()?.then(() => woken.push(1));
  void intake.whenRoom()?.then(() => woken.push(2));

  intake.leave(second);
  intake.leave(first);
  intake.leave(first);
  await Promise.resolve();

  expect(woken).toEqual([1]);
  intake.wakeOne();
  await Promise.resolve();
  expect(woken).toEqual([1, 2]);
});
