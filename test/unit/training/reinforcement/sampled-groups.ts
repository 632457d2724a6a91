import type { Rollout } from '../../../../src/core/reinforcement/rollout';
import type { SampledGroup } from '../../../../src/training/rollouts/sample-group';

/** A rollout of one turn that was asked and answered with tokens. */
export function rolloutOf(
  reward: number,
  answer: readonly number[],
  text = String(answer),
): [Rollout, string] {
  const rollout: Rollout = {
    transitions: [
      {
        observationTokens: [1, 2, 3],
        actionTokens: answer,
        logprobs: answer.map((token) => -token / 10),
        reward,
        isDone: true,
        metrics: { correct: reward },
        logs: {},
        stopReason: 'stop',
        policyVersion: 0,
      },
    ],
    finalReward: 0,
    metrics: {},
    stopReason: 'completed',
  };
  return [rollout, text];
}

export function groupOf(id: string, rollouts: readonly [Rollout, string][]): SampledGroup {
  return {
    id,
    tags: ['sums'],
    rollouts: rollouts.map(([rollout]) => rollout),
    conversations: rollouts.map(([, text]) => [
      { role: 'user', content: 'What is it?' },
      { role: 'assistant', content: text },
    ]),
    ...{ errorTypes: [], errorMessages: [] },
    isSkipped: rollouts.length === 0,
  };
}
