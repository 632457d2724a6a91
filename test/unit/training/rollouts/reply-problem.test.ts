import { problemOf } from '../../../../src/training/rollouts/reply-problem';
import type { SampledAction } from '../../../../src/training/rollouts/sample-action';

function actionWith(calls: number): SampledAction {
  return {
    prompt: [],
    tokens: [],
    logprobs: [],
    stopReason: 'stop',
    reply: {
      message: { role: 'assistant', content: '' },
      termination: 'stop_sequence',
      unparsedToolCalls: Array.from({ length: calls }, (_, index) => ({
        rawText: '',
        reason: `why ${index}`,
      })),
    },
  };
}

test('what cannot be read is told, and of very much only how much', () => {
  expect(problemOf(actionWith(0))).toBeNull();
  expect(problemOf(actionWith(2))).toEqual({ kind: 'content', details: 'why 0\nwhy 1' });
  const details = problemOf(actionWith(100_000))?.details.split('\n') ?? [];
  expect(details).toHaveLength(21);
  expect(details.at(-1)).toBe('and 99980 more');
});
