import { failedRollouts } from '../../../../src/training/reinforcement/failed-rollouts';

const failed = (step: number, types: Readonly<Record<string, number>>, more: object = {}) => ({
  ...{ step, ...more, 'rollout_errors/total': Object.values(types).reduce((sum, count) => sum + count, 0) },
  ...Object.fromEntries(Object.entries(types).map(([type, count]) => [`rollout_errors/${type}`, count])),
});

test('counts what failed in all steps, and names the newest step that says with what', () => {
  const metrics = [
    failed(1, { environment_error: 2 }),
    failed(2, { environment_error: 1, grader_error: 4 }, { 'rollout_errors/groups_skipped': 1 }),
    { step: 3 },
  ];

  expect(failedRollouts('mine', metrics)).toBe(
    '7 attempts at rollouts failed (environment_error 3, grader_error 4), and 1 group came to nothing. ' +
      '`everstep runs rollouts mine --step 2` says with what.',
  );
});

test('counts one as one', () => {
  expect(failedRollouts('mine', [failed(1, { judge_error: 1 })])).toMatch(
    /^1 attempt at a rollout failed \(judge_error 1\)\. /,
  );
});

test('says nothing where none failed', () => {
  expect(failedRollouts('mine', [{ step: 1 }, { step: 2 }])).toBeNull();
});
