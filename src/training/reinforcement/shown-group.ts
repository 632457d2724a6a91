import { totalReward } from '../../core/reinforcement/rollout';
import type { Rollout } from '../../core/reinforcement/rollout';
import type { ShownGroup } from '../../evaluation/pages/shown-group';
import type { SampledGroup } from '../rollouts/sample-group';
import { messageText } from './message-text';

/** A group that was sampled, as people read it. */
export function shownGroup(group: number, sampled: SampledGroup): ShownGroup {
  const { id, tags, errorTypes, errorMessages, rollouts, conversations } = sampled;
  return {
    ...{ group, id, tags, errors: errorTypes, errorMessages },
    rollouts: rollouts.map((rollout, member) => ({
      reward: totalReward(rollout),
      stopReason: rollout.stopReason,
      turns: rollout.transitions.length,
      tokens: rollout.transitions.reduce((sum, { actionTokens }) => sum + actionTokens.length, 0),
      metrics: { ...rollout.transitions.at(-1)?.metrics, ...rollout.metrics },
      logs: logsOf(rollout),
      messages: (conversations[member] ?? []).map((message) => ({
        role: message.role,
        text: messageText(message),
      })),
    })),
  };
}

function logsOf({ transitions }: Rollout): Record<string, string | number> {
  const entries = transitions.flatMap(({ logs }, turn) =>
    Object.entries(logs).map(([name, value]): [string, string | number] => [
      transitions.length > 1 ? `turn ${turn + 1} ${name}` : name,
      value,
    ]),
  );
  return Object.fromEntries(entries);
}
