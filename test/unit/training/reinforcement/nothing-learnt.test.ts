import { ReinforcementConfig } from '../../../../src/config/reinforcement-config';
import { nothingLearnt } from '../../../../src/training/reinforcement/nothing-learnt';
import type { RunRecord } from '../../../../src/training/run-folder';

function record(more: object = {}): RunRecord {
  const config = ReinforcementConfig.parse({
    ...{ kind: 'rl', model: 'everstep/tiny', environment: { type: 'arithmetic' } },
    ...more,
  });
  return {
    ...{ run: 'flat', config, evaluators: {}, renderer: 'everstep', engineUrl: '', initialPath: null },
    data: {
      ...{ source: 'arithmetic', revision: null, contentHash: '', preparedHash: null },
      ...{ trainCount: 1, testCount: 0, skippedCount: 0, truncatedCount: 0 },
    },
    provenance: {},
  };
}

const row = (step: number, mixed: number) => ({ step, 'env/all/by_group/frac_mixed': mixed });

test('is told of a run whose rewards never differed within a group', () => {
  expect(nothingLearnt(record(), [row(1, 0), row(2, 0)])).toMatch(
    /^Nothing could be learnt: in all 2 steps .*everstep runs rollouts flat/,
  );
});

test('says so where it was because every rollout failed', () => {
  const failed = { ...row(1, 0), 'env/all/total_episodes': 0 };

  expect(nothingLearnt(record(), [failed])).toContain('in all 1 steps every rollout failed');
});

test.each([
  ['they differed once', {}, [row(1, 0), row(2, 0.25)]],
  ['nothing was trained', {}, []],
  ['a penalty moves the weights', { klPenaltyCoef: 0.1 }, [row(1, 0)]],
  ['tokens earn what follows them', { advantages: { discount: 0.9 } }, [row(1, 0)]],
  ['the loss is one’s own', { lossFunction: { plugin: 'mine' } }, [row(1, 0)]],
])('is not told where %s', (_, more, metrics) => {
  expect(nothingLearnt(record(more), metrics)).toBeNull();
});
