import { policyDatums } from '../../../../src/core/reinforcement/rollout-datums';
import { totalReward } from '../../../../src/core/reinforcement/rollout';
import { DomainError } from '../../../../src/core/errors';
import type { GroupTolerance } from '../../../../src/core/reinforcement/group-tolerance';
import { arithmeticEnvironments } from '../../../../src/training/environments/arithmetic';
import type {
  EnvironmentGroup,
  TrainingEnvironment,
  TrainingStep,
} from '../../../../src/training/environments/environment-dataset';
import { createSampleSeeds } from '../../../../src/training/rollouts/sample-seeds';
import type { GuardedPlay, PlayGuard } from '../../../../src/training/rollouts/deadly-plays';
import { givenUp, sampleGroup } from '../../../../src/training/rollouts/sample-group';
import type { RolloutSite } from '../../../../src/training/rollouts/rollout-site';
import { scriptedPolicy, siteWith, sumAskedFor, tokenizer } from './scripted-policy';

const { signal } = new AbortController();
const sums = arithmeticEnvironments({ digits: 2, formatPenalty: 0.1 });
const talker = scriptedPolicy(() => 'hello<|end|>');

function sample(site: RolloutSite, group: EnvironmentGroup, groupSize = 4, within = signal) {
  return sampleGroup(
    site,
    { group, groupSize, seeds: createSampleSeeds(7, 0), policyVersion: 2 },
    { signal: within },
  );
}

/** Members that do as told; each making of an environment is counted. */
function groupOf(make: (member: number, attempt: number) => Partial<TrainingEnvironment>): EnvironmentGroup {
  const made = new Map<number, number>();
  return {
    id: 'told',
    tags: ['told'],
    make(member) {
      const attempt = made.get(member) ?? 0;
      made.set(member, attempt + 1);
      return {
        initialObservation: () => ({ messages: [{ role: 'user', content: `member ${member}` }] }),
        step: () => over(member),
        ...make(member, attempt),
      };
    },
  };
}

function over(reward: number): TrainingStep {
  return { reward, isDone: true, nextMessages: [] };
}

function broken(): never {
  throw new Error('the environment broke');
}

test('keeps what was sampled exactly: tokens, log-probabilities, rewards', async () => {
  const policy = scriptedPolicy(
    (prompt, { params }) => `${sumAskedFor(prompt) + ((params.seed ?? 0) % 2)}<|end|>`,
  );

  const group = await sample(siteWith(policy), sums.groupAt(3));

  const seeds = policy.requests.map(({ params }) => params.seed ?? 0);
  expect(group.rollouts.map(totalReward)).toEqual(seeds.map((seed) => 1 - (seed % 2)));
  const [turn] = group.rollouts[0]?.transitions ?? [];
  expect(tokenizer.decode(turn?.observationTokens ?? [])).toMatch(
    /<\|user\|>\d\d\+\d\d=<\|end\|><\|assistant\|>$/,
  );
  expect(tokenizer.decode(turn?.actionTokens ?? [])).toMatch(/^\d+<\|end\|>$/);
  expect(turn?.logprobs).toHaveLength(turn?.actionTokens.length ?? -1);
  expect(turn).toMatchObject({ policyVersion: 2, isDone: true, metrics: { format: 1, 'stop/completed': 1 } });
});

test('the same seeds give the same group, other group numbers others, and no two members or turns share one', async () => {
  const one = await sample(siteWith(talker), sums.groupAt(0));
  const again = await sample(siteWith(talker), sums.groupAt(0));

  expect(again).toEqual(one);
  const places = [0, 1, 2].flatMap((redraw) =>
    [0, 1, 2, 3].flatMap((turn) => Array.from({ length: 64 }, (_, member) => ({ member, turn, redraw }))),
  );
  const all = [0, 1, 2, 3].flatMap((groupNumber) => places.map(createSampleSeeds(7, groupNumber)));
  expect(new Set(all).size).toBe(all.length);
  expect(all.every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)).toBe(true);
});

function unreadable(): TrainingStep {
  return {
    ...over(1),
    get reward(): number {
      throw new Error('not yet');
    },
  };
}

describe('a rollout that comes to nothing', () => {
  const troubles: [string, Partial<TrainingEnvironment>][] = [
    ['throws when it begins', { initialObservation: broken }],
    ['throws in a step', { step: broken }],
    ['rejects', { step: () => Promise.reject(new Error('no')) }],
    ['hangs', { step: () => new Promise<TrainingStep>(() => undefined) }],
    ['hangs at the beginning', { initialObservation: () => new Promise(() => undefined) }],
    ['gives a reward that is no number', { step: () => over(NaN) }],
    ['gives an infinite reward', { step: () => over(Infinity) }],
    ['gives a reward that is infinite in float32', { step: () => over(1e308) }],
    ['gives a reward whose gradients would be infinite', { step: () => over(1e16) }],
    ['gives an answer that cannot be read', { step: unreadable }],
    ['returns nothing', { step: () => undefined as unknown as TrainingStep }],
    ['returns messages that are none', { step: () => ({ ...over(1), nextMessages: [7] as never }) }],
    ['gives a metric that is no number', { step: () => ({ ...over(1), metrics: { a: '1' } as never }) }],
    [
      'says what the format cannot write',
      { initialObservation: () => ({ messages: [{ role: 'jester', content: '' }] }) },
    ],
    ['cannot name its end', { nameStop: broken }],
  ];

  test.each(troubles)('costs itself alone when its environment %s', async (_what, trouble) => {
    const site = siteWith(talker, {
      strategy: { type: 'min-viable', maxRetries: 0, minSuccessful: 3 },
      environmentTimeoutSeconds: 0.05,
    });

    const group = await sample(
      site,
      groupOf((member) => (member === 1 ? trouble : {})),
    );

    expect(group.rollouts.map(totalReward)).toEqual([0, 2, 3]);
    expect(group.errorTypes).toHaveLength(1);
    expect(group.isSkipped).toBe(false);
  });

  test('costs itself alone when its environment cannot be made or put away', async () => {
    const site = siteWith(talker, { strategy: { type: 'min-viable', maxRetries: 0, minSuccessful: 2 } });

    const group = await sample(
      site,
      groupOf((member) => {
        if (member === 0) broken();
        return { close: () => Promise.reject(new Error('stuck')) };
      }),
    );

    expect(group.rollouts.map(totalReward)).toEqual([1, 2, 3]);
    expect(group.errorTypes).toEqual(['environment_error']);
  });

  test('is tried again in a new environment, with other completions where the same would fail again', async () => {
    const policy = scriptedPolicy(() => 'hello<|end|>');
    const site = siteWith(policy, { strategy: { type: 'retry', maxRetries: 3 } });

    const group = await sample(
      site,
      groupOf((member, attempt) => (member === 2 && attempt < 2 ? { step: broken } : {})),
    );

    expect(group.rollouts.map(totalReward)).toEqual([0, 1, 2, 3]);
    expect(group.errorTypes).toEqual(['environment_error', 'environment_error']);
    const ofMember = policy.requests.filter(({ prompt }) => tokenizer.decode(prompt).includes('member 2'));
    expect(new Set(ofMember.map(({ params }) => params.seed)).size).toBe(3);
  });

  test('is drawn again as it was where the service failed in passing', async () => {
    let failures = 0;
    const policy = scriptedPolicy((prompt) => {
      if (prompt.includes('member 1') && failures++ === 0) throw new DomainError('request-failed', 'passing');
      return 'hello<|end|>';
    });
    const site = siteWith(policy, { strategy: { type: 'retry', maxRetries: 1 } });

    const group = await sample(
      site,
      groupOf(() => ({})),
    );

    const undisturbed = await sample(
      siteWith(talker),
      groupOf(() => ({})),
    );
    expect(group.rollouts).toEqual(undisturbed.rollouts);
    expect(group.errorTypes).toEqual(['sampling_error']);
  });

  test('costs its group where the retries are used up, and the step where nothing is tolerated', async () => {
    const group = groupOf((member) => (member === 2 ? { step: broken } : {}));

    const skipped = await sample(siteWith(talker, { strategy: { type: 'retry', maxRetries: 1 } }), group);

    expect(skipped).toMatchObject({ rollouts: [], isSkipped: true });
    await expect(sample(siteWith(talker), group)).rejects.toThrow(
      'Rollout 3 of group told failed (environment_error): the environment broke',
    );
  });

  test.each<[string, Partial<TrainingEnvironment>]>([
    ['environment_error', { step: broken }],
    ['environment_timeout', { step: () => new Promise<TrainingStep>(() => undefined) }],
    ['environment_timeout', { initialObservation: () => new Promise(() => undefined) }],
  ])('ends the run where nothing is tolerated: %s is not tried again', async (type, trouble) => {
    const site = siteWith(talker, { environmentTimeoutSeconds: 0.05 });

    const failed = sample(
      site,
      groupOf((member) => (member === 2 ? trouble : {})),
    );

    await expect(failed).rejects.toMatchObject({
      code: 'request-failed',
      message: expect.stringContaining(`Rollout 3 of group told failed (${type})`) as string,
      retryable: false,
    });
  });

  test('ends the run where graders hang, and is tried again where the service failed', async () => {
    const hanging = { ...groupOf(() => ({})), rewards: () => new Promise<never>(() => undefined) };
    const failing = scriptedPolicy(() => {
      throw new DomainError('request-failed', 'passing', { retryable: true });
    });

    await expect(
      sample(siteWith(talker, { environmentTimeoutSeconds: 0.05 }), hanging),
    ).rejects.toMatchObject({
      message: expect.stringContaining('(grader_timeout)') as string,
      retryable: false,
    });
    await expect(
      sample(
        siteWith(failing),
        groupOf(() => ({})),
      ),
    ).rejects.toMatchObject({
      message: expect.stringContaining('(sampling_error)') as string,
      retryable: true,
    });
  });

  test('ends the others at once where nothing is tolerated, and closes their environments', async () => {
    let closedCount = 0;
    const slow = scriptedPolicy(async (prompt, _request, called) => {
      if (prompt.includes('member 0')) return 'hello<|end|>';
      return new Promise((_resolve, reject) =>
        called?.addEventListener('abort', () => {
          reject(new Error('off'));
        }),
      );
    });
    const close = async () => {
      closedCount += 1;
    };

    const sampling = sample(
      siteWith(slow),
      groupOf((member) => ({ close, ...(member === 0 && { step: broken }) })),
    );

    await expect(sampling).rejects.toThrow('Rollout 1 of group told');
    expect(closedCount).toBe(4);
  });
});

test.each(['unreachable', 'session-lost', 'unauthorized'] as const)(
  'a service that is %s is no failure of rollouts: it passes through whatever is tolerated',
  async (code) => {
    const policy = scriptedPolicy(() => {
      throw new DomainError(code, 'gone');
    });
    const site = siteWith(policy, { strategy: { type: 'min-viable', maxRetries: 3, minSuccessful: 1 } });

    await expect(sample(site, sums.groupAt(0))).rejects.toMatchObject({ code });
  },
);

test('completions without a log-probability for each token are refused', async () => {
  const site = siteWith({
    sample: async () => ({
      sequences: [{ tokens: [49, 50], logprobs: [-0.5], stopReason: 'stop' }],
      promptLogprobs: null,
    }),
  });

  await expect(sample(site, sums.groupAt(0))).rejects.toThrow('1 finite log-probs for 2 tokens');
});

test('a group that is called off ends with the reason', async () => {
  const callOff = new AbortController();
  const hanging = siteWith({ sample: () => new Promise(() => undefined) });

  const sampling = sample(hanging, sums.groupAt(0), 2, callOff.signal);
  callOff.abort(new Error('cancelled'));

  await expect(sampling).rejects.toThrow('cancelled');
});

describe('rewards of a group as a whole', () => {
  const ranked: EnvironmentGroup = {
    ...groupOf(() => ({})),
    rewards: (played) =>
      played.map(({ messages }, index) => ({ reward: index * 10, metrics: { said: messages.length } })),
  };

  test('are added to those of the turns', async () => {
    const group = await sample(siteWith(talker), ranked);

    expect(group.rollouts.map(totalReward)).toEqual([0, 11, 22, 33]);
    expect(group.rollouts[1]?.metrics).toEqual({ said: 2 });
    expect(group.conversations[1]?.map(({ content }) => content)).toEqual(['member 1', 'hello']);
  });

  test('skip the group where they fail, or as many as there are rollouts do not come', async () => {
    const tolerant = siteWith(talker, { strategy: { type: 'min-viable', maxRetries: 0, minSuccessful: 1 } });

    const failed = await sample(tolerant, { ...ranked, rewards: broken });
    const wrongCount = await sample(tolerant, { ...ranked, rewards: () => [{ reward: 1 }] });

    expect(failed).toMatchObject({ isSkipped: true, errorTypes: ['group_rewards_error'] });
    expect(wrongCount).toMatchObject({ isSkipped: true, errorTypes: ['environment_garbage'] });
    await expect(sample(siteWith(talker), { ...ranked, rewards: broken })).rejects.toThrow(
      'group_rewards_error',
    );
  });
});

test('a group is what the loss is made of: one datum a rollout, with its log-probabilities and advantage', async () => {
  const group = await sample(
    siteWith(talker),
    groupOf(() => ({})),
    2,
  );

  const datums = policyDatums([group], [[-1, 1]]);

  expect(datums).toHaveLength(2);
  const masked = [...(datums[1]?.mask ?? [])].filter((each) => each === 1);
  expect(masked).toHaveLength(group.rollouts[1]?.transitions[0]?.actionTokens.length ?? -1);
});

describe('a group with which one process after the other died', () => {
  const deadly = groupOf(() => ({}));

  test('is skipped where failures are tolerated', () => {
    const site = siteWith(talker, { strategy: { type: 'min-viable', maxRetries: 0, minSuccessful: 1 } });

    expect(givenUp(site, { group: deadly }, 5)).toEqual({
      ...{ id: 'told', tags: ['told'], rollouts: [], conversations: [] },
      ...{ errorTypes: ['environment_error'], isSkipped: true },
      errorMessages: [expect.stringContaining('died 5 times in a row while this group alone was played')],
    });
  });

  test('ends the run where none is, with the number of deaths and the remedy', () => {
    expect(() => givenUp(siteWith(talker), { group: deadly, place: { step: 4, group: 2 } }, 5)).toThrow(
      /^Rollout 1 of group 2 of step 4, of problem "told", failed .* process died 5 times in a row .* too much memory.*rolloutErrorTolerance/,
    );
  });

  const countsOf = () => ({ note: { excuse: () => undefined }, blame: () => undefined });

  test('is played one by one, costs what kills alone, and has that drawn anew where failures are tried again', async () => {
    const playing: GuardedPlay[] = [];
    let mostAtOnce = 0;
    let now = 0;
    const group = groupOf(() => ({
      step: async () => {
        mostAtOnce = Math.max(mostAtOnce, ++now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now -= 1;
        return over(1);
      },
    }));
    const guard: PlayGuard = {
      isOneByOne: true,
      enter(play) {
        playing.push(play);
        return Promise.resolve(play.member === 2 && play.redraw === 0 ? { deaths: 3, cause: null } : null);
      },
      countsOf,
    };
    const play = (strategy: GroupTolerance) =>
      sampleGroup(
        siteWith(talker, { strategy }),
        { group, groupSize: 4, seeds: createSampleSeeds(7, 0), policyVersion: 2, guard },
        { signal },
      );

    const smaller = await play({ type: 'min-viable', maxRetries: 0, minSuccessful: null });
    const whole = await play({ type: 'retry', maxRetries: 1 });

    expect(mostAtOnce).toBe(1);
    expect(smaller).toMatchObject({ isSkipped: false, errorTypes: ['environment_error'] });
    expect(smaller.rollouts).toHaveLength(3);
    expect(whole.rollouts).toHaveLength(4);
    expect(playing.map(({ member, redraw }) => [member, redraw])).toEqual([
      ...[0, 1, 2, 3].map((member) => [member, 0]),
      ...[0, 1, 2, 3].map((member) => [member, 0]),
      [2, 1],
    ]);
    await expect(play({ type: 'fail-fast' })).rejects.toThrow(
      /^Rollout 3 of group told failed \(environment_error\): the worker's process died 3 times in a row while it alone was played\. Look for loops .* in its environment.*\. Repair it/,
    );
  });

  test('has no rewards where giving them kills', async () => {
    const group: EnvironmentGroup = {
      ...groupOf(() => ({})),
      rewards: (played) => played.map(() => ({ reward: 1 })),
    };
    const enter = ({ member }: GuardedPlay) =>
      Promise.resolve(member === null ? { deaths: 2, cause: 'a loop at /mine.js:3' } : null);
    const site = siteWith(talker, { strategy: { type: 'retry', maxRetries: 4 } });

    const sampled = await sampleGroup(
      site,
      {
        ...{ group, groupSize: 2, seeds: createSampleSeeds(7, 0), policyVersion: 2 },
        guard: { isOneByOne: true, enter, countsOf },
      },
      { signal },
    );

    expect(sampled).toMatchObject({ isSkipped: true, errorTypes: ['group_rewards_error'] });
    expect(sampled.errorMessages).toEqual([
      expect.stringContaining("the worker's process was ended 2 times because of it: a loop at /mine.js:3"),
    ]);
  });
});

test('what an environment throws that cannot even be asked names the rollout and the remedy', async () => {
  const trap = (): never => {
    throw new Error('3');
  };
  const traps = { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap };
  const step = () => {
    throw new Proxy(new Error('hidden'), traps);
  };

  await expect(
    sample(
      siteWith(talker),
      groupOf(() => ({ step })),
    ),
  ).rejects.toThrow(
    /^Rollout \d of group told failed \(environment_error\): an error that cannot be shown\. Repair it/,
  );
});
