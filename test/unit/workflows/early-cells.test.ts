import { openCellCount } from '../../../src/workflows/training/early-cells';
import type { PendingEvaluation, RequestedEvaluation } from '../../../src/workflows/training/training-state';

test('evaluations are counted as they are listed: each evaluator of each step that has no result yet', () => {
  const pending = [
    { step: 0, evaluators: ['loss', 'never'], recorded: ['loss'] },
    { step: 2, evaluators: ['loss', 'never'] },
  ] as unknown as PendingEvaluation[];
  const requests: RequestedEvaluation[] = [{ request: 1, step: 2, evaluators: ['quiz'], snapshot: null }];

  expect(openCellCount({ pending, requests })).toBe(4);
  expect(openCellCount({ pending: [] })).toBe(0);
});
