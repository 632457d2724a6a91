import { totalReward } from '../../core/reinforcement/rollout';
import type { Rollout } from '../../core/reinforcement/rollout';
import type { SampledGroup } from '../rollouts/sample-group';
import { messageText } from './message-text';

interface ShownMessage {
  readonly role: string;
  readonly text: string;
}

export interface ShownRollout {
  readonly reward: number;
  readonly stopReason: string | null;
  readonly turns: number;
  readonly tokens: number;
  /** Of the last turn, and of the end. */
  readonly metrics: Readonly<Record<string, number>>;
  /** What the environment or the grader noted; by turn where there were several. */
  readonly logs: Readonly<Record<string, string | number>>;
  readonly messages: readonly ShownMessage[];
}

/** Answers to one problem as people read them, whether they were trained on or measured. */
export interface ShownGroup {
  readonly group: number;
  readonly id: string;
  readonly tags: readonly string[];
  /** What attempts at rollouts failed with. */
  readonly errors: readonly string[];
  readonly rollouts: readonly ShownRollout[];
}

export function shownGroup(group: number, sampled: SampledGroup): ShownGroup {
  const { id, tags, errorTypes, rollouts, conversations } = sampled;
  return {
    ...{ group, id, tags, errors: errorTypes },
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

/** 0 where there is no rollout. */
export function meanReward({ rollouts }: ShownGroup): number {
  return rollouts.reduce((sum, { reward }) => sum + reward, 0) / Math.max(1, rollouts.length);
}
