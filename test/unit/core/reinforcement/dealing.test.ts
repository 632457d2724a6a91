import fc from 'fast-check';
import type { GroupTolerance } from '../../../../src/core/reinforcement/group-tolerance';
import { decideGroup } from '../../../../src/core/reinforcement/group-tolerance';
import { isStale, placeGroup, samplingMetrics } from '../../../../src/core/reinforcement/staleness';
import {
  minibatchPlace,
  planMinibatches,
  splitIntoSubsteps,
} from '../../../../src/core/reinforcement/substeps';

describe('substeps', () => {
  test('hold every item once, in order, in parts that differ by one at most', () => {
    const counts = fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 60 }));
    fc.assert(
      fc.property(counts, ([itemCount, substepCount]) => {
        const items = Array.from({ length: itemCount }, (_, index) => index);
        const parts = splitIntoSubsteps(items, substepCount);
        const sizes = parts.map((part) => part.length);
        expect(parts.flat()).toEqual(items);
        expect(parts).toHaveLength(Math.min(itemCount, substepCount));
        if (itemCount > 0) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test.each([0, -1, 1.5, NaN])('cannot be %p', (count) => {
    expect(() => splitIntoSubsteps([1, 2], count)).toThrow(/numSubsteps/);
  });
});

describe('streamed minibatches', () => {
  test('deal groups out in the order they arrive', () => {
    const plan = planMinibatches({ groupsPerBatch: 8, substepCount: 2, minibatchCount: 2 });

    const places = Array.from({ length: 8 }, (_, arrival) => minibatchPlace(plan, arrival));

    expect(places.map(({ substep, minibatch }) => [substep, minibatch])).toEqual([
      [0, 0],
      [0, 0],
      [0, 1],
      [0, 1],
      [1, 0],
      [1, 0],
      [1, 1],
      [1, 1],
    ]);
    expect(arrivals(places.map(({ endsMinibatch }) => endsMinibatch))).toEqual([1, 3, 5, 7]);
    expect(arrivals(places.map(({ endsSubstep }) => endsSubstep))).toEqual([3, 7]);
    expect(arrivals(places.map(({ endsStep }) => endsStep))).toEqual([7]);
  });

  test.each([
    [{ groupsPerBatch: 8, substepCount: 3, minibatchCount: 1 }, /multiple of 3/],
    [{ groupsPerBatch: 8, substepCount: 2, minibatchCount: 3 }, /multiple of 6/],
    [{ groupsPerBatch: 0, substepCount: 1, minibatchCount: 1 }, /groupsPerBatch is 0/],
    [{ groupsPerBatch: 8, substepCount: 1, minibatchCount: 0.5 }, /streamedMinibatches is 0.5/],
  ])('refuse %j', (config, message) => {
    expect(() => planMinibatches(config)).toThrow(message);
  });

  function arrivals(flags: readonly boolean[]): number[] {
    return flags.flatMap((flag, index) => (flag ? [index] : []));
  }
});

describe('asynchronous groups', () => {
  test.each([
    [5, 5, 0, false],
    [4, 5, 0, true],
    [3, 5, 2, false],
    [2, 5, 2, true],
    [6, 5, 0, false],
  ])(
    'weights %i at trainer %i with %i allowed: stale %p',
    (policyVersion, trainerVersion, maxStepsOffPolicy, expected) => {
      expect(isStale({ policyVersion, trainerVersion, maxStepsOffPolicy })).toBe(expected);
    },
  );

  test('a stale one is repeated while there is data and discarded after', () => {
    const stale = { policyVersion: 0, trainerVersion: 5, maxStepsOffPolicy: 2 };

    expect(placeGroup({ ...stale, isDataExhausted: false })).toBe('repeat');
    expect(placeGroup({ ...stale, isDataExhausted: true })).toBe('discard');
    expect(placeGroup({ ...stale, policyVersion: 3, isDataExhausted: true })).toBe('train');
  });

  test('their ages and durations', () => {
    expect(samplingMetrics([])).toEqual({});
    expect(
      samplingMetrics([
        { policyVersion: 1, seconds: 4 },
        { policyVersion: 4, seconds: 1 },
      ]),
    ).toEqual({
      'sampling_client/step_max': 4,
      'sampling_client/step_min': 1,
      'sampling_client/step_mean': 2.5,
      'time/sampling_time_max': 4,
      'time/sampling_time_min': 1,
      'time/sampling_time_mean': 2.5,
    });
  });
});

describe('groups with failed rollouts', () => {
  const FAIL_FAST = { type: 'fail-fast' } as const;
  const RETRY = { type: 'retry', maxRetries: 3 } as const;
  const VIABLE = { type: 'min-viable', maxRetries: 3, minSuccessful: null } as const;
  const FILLED: GroupTolerance = { ...VIABLE, isFilledUp: true };
  const attempts = (successCount: number, failureCount: number, retriesUsed = 0) => ({
    groupSize: 8,
    successCount,
    failureCount,
    retriesUsed,
  });

  test.each<[string, GroupTolerance, ReturnType<typeof attempts>, object]>([
    ['all well', FAIL_FAST, attempts(8, 0), { type: 'keep' }],
    ['nothing there', RETRY, attempts(0, 0), { type: 'skip' }],
    ['one failure fails the step', FAIL_FAST, attempts(7, 1), { type: 'fail' }],
    ['failures are tried again', RETRY, attempts(6, 2), { type: 'retry', count: 2 }],
    ['the last retry', RETRY, attempts(7, 1, 2), { type: 'retry', count: 1 }],
    ['more failures than retries cannot fill the group', RETRY, attempts(6, 2, 2), { type: 'skip' }],
    ['retries used up', RETRY, attempts(7, 1, 3), { type: 'skip' }],
    ['a partial group uses the retries there are', VIABLE, attempts(2, 6), { type: 'retry', count: 3 }],
    ['three quarters are enough, whatever retries are left', VIABLE, attempts(6, 2), { type: 'keep' }],
    [
      'one that is filled up uses them',
      { ...VIABLE, isFilledUp: true },
      attempts(6, 2),
      { type: 'retry', count: 2 },
    ],
    ['and is kept without', FILLED, attempts(6, 2, 3), { type: 'keep' }],
    ['fewer are not', VIABLE, attempts(5, 3, 3), { type: 'skip' }],
    ['unless said so', { ...VIABLE, minSuccessful: 5 }, attempts(5, 3, 3), { type: 'keep' }],
  ])('%s', (_name, tolerance, state, expected) => {
    expect(decideGroup(tolerance, state)).toEqual(expected);
  });
});
