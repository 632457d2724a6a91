import {
  advantagesOf,
  discountedFutureSums,
  groupAdvantages,
} from '../../../src/core/reinforcement/advantages';
import { withoutConstantGroups } from '../../../src/core/reinforcement/constant-groups';
import { meanKl, penalizeKl } from '../../../src/core/reinforcement/kl-penalty';
import { endRollout, nextTurn, NO_LIMITS } from '../../../src/core/reinforcement/limits';
import type { RolloutLimits } from '../../../src/core/reinforcement/limits';
import { targetLogprobs } from '../../../src/core/reinforcement/policy-logprobs';
import { prePostMetrics, sampleTrainMetrics } from '../../../src/core/reinforcement/policy-metrics';
import { groupRewards, totalReward } from '../../../src/core/reinforcement/rollout';
import type { Rollout, Transition } from '../../../src/core/reinforcement/rollout';
import { policyDatums, rolloutDatums } from '../../../src/core/reinforcement/rollout-datums';
import { groupFractions, meanByKey, rolloutMetrics } from '../../../src/core/reinforcement/rollout-metrics';
import { samplingMetrics } from '../../../src/core/reinforcement/staleness';
import { splitIntoSubsteps } from '../../../src/core/reinforcement/substeps';
import { clampRewardOnLimit, DEFAULT_TERMINATION } from '../../../src/core/reinforcement/termination';
import {
  expectClose,
  expectCloseRecord,
  fromPolicyDatum,
  referenceCases,
  testWith,
  toGroup,
  toPolicyDatum,
  toRollout,
} from './reference-cases';
import type { ReferenceDatum, ReferenceGroup, ReferenceInputDatum, ReferenceTurn } from './reference-cases';

describe('totals and advantages', () => {
  testWith(
    'a rollout earns its turns and its share of the group',
    referenceCases<{ group: ReferenceGroup }, number[]>(
      'advantages.json',
      'rl.types.TrajectoryGroup.get_total_rewards',
    ),
    ({ input, expected }) => {
      expect(groupRewards(toGroup(input.group))).toEqual(expected);
    },
  );

  testWith(
    'rewards less the mean of their group, without division, in float32',
    referenceCases<{ total_rewards?: number[]; group?: ReferenceGroup }, number[]>(
      'advantages.json',
      'rl.data_processing.compute_advantages',
    ),
    ({ input, expected }) => {
      const rewards = input.total_rewards ?? (input.group ? groupRewards(toGroup(input.group)) : []);
      expectClose(groupAdvantages(rewards), expected);
    },
  );

  testWith(
    'groups of one reward are dropped, but for the first where all are such',
    referenceCases<{ groups: ReferenceGroup[] }, { kept_indices: number[] }>(
      'advantages.json',
      'rl.data_processing.remove_constant_reward_groups',
    ),
    ({ input, expected }) => {
      const groups = input.groups.map((group, index) => ({ ...toGroup(group), id: String(index) }));
      expect(withoutConstantGroups(groups).map(({ id }) => Number(id))).toEqual(expected.kept_indices);
    },
  );
});

describe('datums', () => {
  testWith(
    'turns that extend the ones before share a sequence',
    referenceCases<{ transitions: ReferenceTurn[]; advantage: number }, ReferenceDatum[]>(
      'trajectory_to_data.json',
      'rl.data_processing.trajectory_to_data',
    ),
    ({ input, expected }) => {
      expect(rolloutDatums(toRollout(input.transitions), input.advantage).map(fromPolicyDatum)).toEqual(
        expected,
      );
    },
  );

  testWith(
    'datums of a batch know their group and rollout',
    referenceCases<
      { groups: ReferenceGroup[] },
      { data: ReferenceDatum[]; metadata: { group_idx: number; traj_idx: number }[] }
    >('trajectory_to_data.json', 'rl.data_processing.assemble_training_data'),
    ({ input, expected }) => {
      const groups = input.groups.map((group) => toGroup(group));
      const datums = policyDatums(groups, advantagesOf(groups));
      expect(datums.map((datum) => ({ group_idx: datum.groupIndex, traj_idx: datum.rolloutIndex }))).toEqual(
        expected.metadata,
      );
      datums.map(fromPolicyDatum).forEach((datum, index) => {
        expectClose(Object.values(datum).flat(), Object.values(expected.data[index] ?? {}).flat());
      });
    },
  );
});

describe('policy metrics and penalties', () => {
  testWith(
    'difference between sampler and trainer, and entropy',
    referenceCases<{ data: ReferenceInputDatum[]; training_logprobs: number[][] }, Record<string, number>>(
      'kl_metrics.json',
      'rl.metrics.compute_kl_sample_train',
    ),
    ({ input, expected }) => {
      expectCloseRecord(sampleTrainMetrics(input.data.map(toPolicyDatum), input.training_logprobs), expected);
    },
  );

  testWith(
    'difference that the update made',
    referenceCases<{ data: ReferenceInputDatum[]; new_logprobs: number[][] }, Record<string, number>>(
      'kl_metrics.json',
      'rl.metrics.compute_post_kl',
    ),
    ({ input, expected }) => {
      const after = input.new_logprobs.map(targetLogprobs);
      expectCloseRecord(prePostMetrics(input.data.map(toPolicyDatum), after), expected);
    },
  );

  testWith(
    'KL penalty on the tokens with mask; other tokens keep their advantage, which the reference changes with a discount',
    referenceCases<
      {
        data: ReferenceInputDatum[];
        base_logprobs: number[][];
        kl_penalty_coef: number;
        kl_discount_factor: number;
      },
      { metrics: { kl_policy_base: number }; advantages: number[][] }
    >('kl_metrics.json', 'rl.metrics.incorporate_kl_penalty'),
    ({ input, expected }) => {
      const { datums, kl } = penalizeKl(
        input.data.map(toPolicyDatum),
        input.base_logprobs.map(targetLogprobs),
        {
          coefficient: input.kl_penalty_coef,
          discount: input.kl_discount_factor,
          isCentred: true,
        },
      );
      expectClose([kl], [expected.metrics.kl_policy_base]);
      expectPenalized(datums.map(fromPolicyDatum), input.data, expected.advantages);
    },
  );

  testWith(
    'KL to a teacher is charged as it is',
    referenceCases<
      {
        data: ReferenceInputDatum[];
        teacher_logprobs: number[][];
        dataset_indices: number[];
        kl_penalty_coef: number;
        kl_discount_factor: number;
      },
      { metrics: Record<string, number>; advantages: number[][] }
    >('distillation.json', 'distillation.train_on_policy.incorporate_kl_penalty'),
    ({ input, expected }) => {
      const data = input.data.map(toPolicyDatum);
      const teacher = input.teacher_logprobs.map(targetLogprobs);
      const { datums, kl } = penalizeKl(data, teacher, {
        coefficient: input.kl_penalty_coef,
        discount: input.kl_discount_factor,
        isCentred: false,
      });
      const metrics: Record<string, number> = { teacher_kl: kl };
      for (const dataset of new Set(input.dataset_indices)) {
        const isOf = (_: unknown, index: number) => input.dataset_indices[index] === dataset;
        metrics[`teacher_kl/dataset_${dataset}`] = meanKl(data.filter(isOf), teacher.filter(isOf));
      }
      expectCloseRecord(metrics, expected.metrics);
      expectPenalized(datums.map(fromPolicyDatum), input.data, expected.advantages);
    },
  );

  testWith(
    'discounted future sums',
    referenceCases<{ x: number[]; gamma: number }, number[]>(
      'kl_metrics.json',
      'rl.metrics.discounted_future_sum_vectorized',
    ),
    ({ input, expected }) => {
      expectClose(discountedFutureSums(input.x, input.gamma), expected);
    },
  );

  testWith(
    'age of the samplers and time they took',
    referenceCases<{ sampling_client_step: number; time: number }[], Record<string, number>>(
      'kl_metrics.json',
      'rl.metrics.compute_sampling_client_metrics',
    ),
    ({ input, expected }) => {
      const groups = input.map(({ sampling_client_step: policyVersion, time: seconds }) => ({
        policyVersion,
        seconds,
      }));
      expect(samplingMetrics(groups)).toEqual(expected);
    },
  );
});

describe('rollout metrics', () => {
  testWith(
    'of all groups and of each tag that names some of them',
    referenceCases<{ groups: ReferenceGroup[]; tags: string[][] }, Record<string, number>>(
      'trajectory_metrics.json',
      'rl.metric_util.compute_trajectory_metrics',
    ),
    ({ input, expected }) => {
      expectCloseRecord(
        rolloutMetrics(input.groups.map((group, index) => toGroup(group, input.tags[index]))),
        expected,
      );
    },
  );

  testWith(
    'shares of mixed, good and bad groups',
    referenceCases<{ group_rewards: number[][] }, Record<string, number>>(
      'trajectory_metrics.json',
      'rl.metric_util._compute_by_group_metrics',
    ),
    ({ input, expected }) => {
      const groups = input.group_rewards.map((rewards) =>
        toGroup({ trajectories: rewards.map(() => []), final_rewards: rewards }),
      );
      expect(groupFractions(groups)).toEqual(expected);
    },
  );

  testWith(
    'means over those that have a key',
    referenceCases<Record<string, number>[], Record<string, number>>(
      'schedules_and_utils.json',
      'utils.misc_utils.dict_mean',
    ),
    ({ input, expected }) => {
      expectCloseRecord(Object.fromEntries(meanByKey(input)), expected);
    },
  );
});

testWith(
  'substeps: near-equal parts; where the reference refuses more parts than items, its loop asks for fewer, as we do',
  referenceCases<{ n: number; k: number }, number[][] | { $error: string }>(
    'schedules_and_utils.json',
    'utils.misc_utils.split_list',
  ),
  ({ input, expected }) => {
    const items = Array.from({ length: input.n }, (_, index) => index);
    if (input.k < 1) expect(() => splitIntoSubsteps(items, input.k)).toThrow(/numSubsteps/);
    else if (Array.isArray(expected)) expect(splitIntoSubsteps(items, input.k)).toEqual(expected);
    else expect(splitIntoSubsteps(items, input.k)).toEqual(items.map((item) => [item]));
  },
);

testWith(
  'limits: caps of each call, reason of the stop and metrics of the last turn',
  referenceCases<LimitedInput, LimitedResult>('rollout_limits.json', 'rl.rollout_runner.run_rollout'),
  ({ input, expected }) => {
    expect(runScripted(input)).toEqual(expected);
  },
);

testWith(
  'termination: what a limit stopped earns nothing',
  referenceCases<
    { step_rewards: number[]; group_reward: number; stop_reason: string | null },
    { group_reward: number; metrics: Record<string, number>; total: number }
  >('termination_reward.json', 'rl.rollouts._apply_zero_reward_on_limit'),
  ({ input, expected }) => {
    const turns = input.step_rewards.map((reward) => ({ ob: [1], ac: [2], lp: [-1], reward }));
    const graded = { ...toRollout(turns, input.group_reward), stopReason: input.stop_reason };
    const rollout = clampRewardOnLimit(graded, { ...DEFAULT_TERMINATION, zeroRewardOnLimit: true });
    expectClose([rollout.finalReward, totalReward(rollout)], [expected.group_reward, expected.total]);
    expect(rollout.metrics).toEqual(expected.metrics);
  },
);

interface LimitedInput {
  readonly env_turns: number;
  readonly tokens_per_turn: number;
  readonly initial_observation_tokens: number;
  readonly tokens_added_by_env_per_turn: number;
  readonly limits: Partial<
    Record<'max_turns' | 'max_trajectory_tokens' | 'max_sampled_tokens' | 'max_turn_tokens', number>
  >;
}

interface LimitedResult {
  readonly per_call_caps: (number | null)[];
  readonly stop_reason: string | null;
  readonly turns: number;
  readonly rewards: number[];
  readonly ac_lens: number[];
  readonly last_metrics: Record<string, number>;
}

/** The reference's scripted environment: 0.1 a turn, 1 for the last, and a sampler that writes all it may. */
function runScripted(input: LimitedInput): LimitedResult {
  const limits = scriptedLimits(input);
  const caps: (number | null)[] = [];
  const turns: Transition[] = [];
  let observation = input.initial_observation_tokens;
  let sampled = 0;
  for (;;) {
    const decision = nextTurn(limits, {
      turnCount: turns.length,
      observationTokenCount: observation,
      sampledTokenCount: sampled,
      elapsedSeconds: 0,
    });
    if (decision.type === 'stop') return scriptedResult(caps, endRollout(turns, decision.reason, 0));
    caps.push(decision.maxTokens);
    const isDone = turns.length + 1 === input.env_turns;
    const written = Math.min(input.tokens_per_turn, decision.maxTokens ?? Infinity);
    const stopReason = written < input.tokens_per_turn ? 'length' : 'stop';
    turns.push({ ...scriptedTurn(observation, written), reward: isDone ? 1 : 0.1, isDone, stopReason });
    if (isDone) return scriptedResult(caps, endRollout(turns, 'completed', 0));
    observation += written + input.tokens_added_by_env_per_turn;
    sampled += written;
  }
}

function scriptedLimits({ limits }: LimitedInput): RolloutLimits {
  return {
    ...NO_LIMITS,
    maxTurns: limits.max_turns ?? null,
    maxRolloutTokens: limits.max_trajectory_tokens ?? null,
    maxSampledTokens: limits.max_sampled_tokens ?? null,
    maxTurnTokens: limits.max_turn_tokens ?? null,
  };
}

function scriptedTurn(
  observation: number,
  written: number,
): Omit<Transition, 'reward' | 'isDone' | 'stopReason'> {
  return {
    observationTokens: Array.from({ length: observation }, () => 1),
    actionTokens: Array.from({ length: written }, () => 2),
    logprobs: Array.from({ length: written }, () => -1),
    metrics: {},
    logs: {},
    policyVersion: 0,
  };
}

function scriptedResult(caps: (number | null)[], { transitions, stopReason }: Rollout): LimitedResult {
  return {
    per_call_caps: caps,
    stop_reason: stopReason,
    turns: transitions.length,
    rewards: transitions.map(({ reward }) => reward),
    ac_lens: transitions.map(({ actionTokens }) => actionTokens.length),
    last_metrics: transitions.at(-1)?.metrics ?? {},
  };
}

function expectPenalized(
  found: readonly ReferenceDatum[],
  before: readonly ReferenceInputDatum[],
  expected: readonly (readonly number[])[],
): void {
  found.forEach(({ advantages }, datum) => {
    const { mask = [], adv = [] } = before[datum] ?? {};
    expectClose(
      advantages,
      mask.map((value, index) => (value > 0 ? expected[datum]?.[index] : adv[index]) ?? NaN),
    );
  });
}
