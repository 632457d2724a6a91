import { z } from 'zod';
import type { Message } from '../../core/conversation';
import { totalReward } from '../../core/reinforcement/rollout';
import type { Rollout, Transition } from '../../core/reinforcement/rollout';
import type { SampledGroup } from './sample-group';

/** Raised with every change of the rows. */
const ROLLOUT_FILE_VERSION = 1;

const numbers = z.record(z.string(), z.number());
/** Checked in one go: a schema for each of some ten thousand numbers would take longer than reading them. */
const aNumberList = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((each) => typeof each === 'number'),
  'must be a list of numbers',
);
const version = z.literal(ROLLOUT_FILE_VERSION);

const TurnRow = z.object({
  /** The prompt begins with all tokens of the turns before; `prompt_tokens` are those after them. */
  continues: z.boolean(),
  prompt_tokens: aNumberList,
  tokens: aNumberList,
  logprobs: aNumberList,
  reward: z.number(),
  done: z.boolean(),
  stop_reason: z.enum(['stop', 'length']).nullable(),
  metrics: numbers,
  logs: z.record(z.string(), z.union([z.string(), z.number()])),
  policy_version: z.int(),
});
type TurnRow = z.infer<typeof TurnRow>;

const AnyMessage = z.looseObject({ role: z.string(), content: z.unknown() });
const MessageRow = z.custom<Message>((value) => AnyMessage.safeParse(value).success);

const RolloutRow = z.object({
  version,
  kind: z.literal('rollout'),
  step: z.int(),
  group: z.int(),
  member: z.int(),
  reward: z.number(),
  final_reward: z.number(),
  stop_reason: z.string().nullable(),
  metrics: numbers,
  messages: z.array(MessageRow),
  turns: z.array(TurnRow),
});

const GroupRow = z.object({
  version,
  kind: z.literal('group'),
  step: z.int(),
  group: z.int(),
  id: z.string(),
  tags: z.array(z.string()),
  /** How many rows of rollouts follow. */
  rollouts: z.int(),
  rewards: aNumberList,
  error_types: z.array(z.string()),
  error_messages: z.array(z.string()).default([]),
  skipped: z.boolean(),
});

export interface GroupPlace {
  /** Steps done when the group was sampled for the next one; as the run counts. */
  readonly step: number;
  /** Within the step. */
  readonly group: number;
}

/** One row for the group and one for each rollout. Numbers are written so that reading gives the same ones. */
export function groupText(place: GroupPlace, sampled: SampledGroup): string {
  const { id, tags, rollouts, conversations, errorTypes, errorMessages, isSkipped } = sampled;
  const head: z.input<typeof GroupRow> = {
    version: ROLLOUT_FILE_VERSION,
    kind: 'group',
    ...place,
    id,
    tags: [...tags],
    rollouts: rollouts.length,
    rewards: rollouts.map(totalReward),
    error_types: [...errorTypes],
    ...(errorMessages.length > 0 && { error_messages: [...errorMessages] }),
    skipped: isSkipped,
  };
  const rows = rollouts.map((rollout, member) =>
    rolloutRow(rollout, { ...place, member, messages: conversations[member] ?? [] }),
  );
  return [head, ...rows].map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** null where the rows are not those of a whole group, or of another one. */
export function groupFromText(text: string, { step, group }: GroupPlace): SampledGroup | null {
  const [first = '', ...others] = text.split('\n').filter((line) => line !== '');
  const head = GroupRow.safeParse(parsed(first)).data;
  const rows = others.flatMap((line) => RolloutRow.safeParse(parsed(line)).data ?? []);
  const isOfGroup = [head, ...rows].every((row) => row?.step === step && row.group === group);
  if (head?.rollouts !== rows.length || !isOfGroup) return null;
  return {
    id: head.id,
    tags: head.tags,
    rollouts: rows.map((row) => ({
      transitions: transitionsOf(row.turns),
      finalReward: row.final_reward,
      metrics: row.metrics,
      stopReason: row.stop_reason,
    })),
    conversations: rows.map(({ messages }) => messages),
    errorTypes: head.error_types,
    errorMessages: head.error_messages,
    isSkipped: head.skipped,
  };
}

function rolloutRow(
  rollout: Rollout,
  place: GroupPlace & { readonly member: number; readonly messages: readonly Message[] },
): z.infer<typeof RolloutRow> {
  const { messages, ...where } = place;
  return {
    version: ROLLOUT_FILE_VERSION,
    kind: 'rollout',
    ...where,
    reward: totalReward(rollout),
    final_reward: rollout.finalReward,
    stop_reason: rollout.stopReason,
    metrics: rollout.metrics,
    messages: [...messages],
    turns: turnRows(rollout.transitions),
  };
}

/** A prompt that goes on from the turns before is stored as what is new: a file grows with what was said, not its square. */
function turnRows(transitions: readonly Transition[]): TurnRow[] {
  let before: readonly number[] = [];
  return transitions.map((turn) => {
    const { observationTokens: prompt, actionTokens: tokens } = turn;
    const continues = before.length > 0 && before.every((token, index) => token === prompt[index]);
    const row = {
      continues,
      prompt_tokens: continues ? prompt.slice(before.length) : prompt,
      tokens,
      logprobs: turn.logprobs,
      reward: turn.reward,
      done: turn.isDone,
      stop_reason: turn.stopReason,
      metrics: turn.metrics,
      logs: turn.logs,
      policy_version: turn.policyVersion,
    };
    before = [...prompt, ...tokens];
    return row;
  });
}

function transitionsOf(rows: readonly TurnRow[]): Transition[] {
  let before: readonly number[] = [];
  return rows.map((row) => {
    const observationTokens = row.continues ? [...before, ...row.prompt_tokens] : row.prompt_tokens;
    before = [...observationTokens, ...row.tokens];
    return {
      observationTokens,
      actionTokens: row.tokens,
      logprobs: row.logprobs,
      reward: row.reward,
      isDone: row.done,
      metrics: row.metrics,
      logs: row.logs,
      stopReason: row.stop_reason,
      policyVersion: row.policy_version,
    };
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
