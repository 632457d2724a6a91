import {
  allowedToolCalls,
  budgetStop,
  endRollout,
  nextTurn,
  NO_LIMITS,
  overflowsContext,
  stopBeforeTurn,
  turnBudget,
} from '../../../../src/core/reinforcement/limits';
import { answerParseError, DEFAULT_PARSE_ERRORS } from '../../../../src/core/reinforcement/parse-errors';
import { ROLLOUT_PRESETS } from '../../../../src/core/reinforcement/rollout-presets';
import { totalReward } from '../../../../src/core/reinforcement/rollout';
import {
  clampRewardOnLimit,
  DEFAULT_TERMINATION,
  shouldGrade,
} from '../../../../src/core/reinforcement/termination';
import { rollout, turn } from './sample-rollouts';

const START = { turnCount: 0, observationTokenCount: 10, sampledTokenCount: 0, elapsedSeconds: 0 };

describe('before a turn', () => {
  test.each([
    ['nothing is limited', {}, {}, { type: 'sample', maxTokens: null }],
    ['turns are left', { maxTurns: 2 }, { turnCount: 1 }, { type: 'sample', maxTokens: null }],
    ['turns are used up', { maxTurns: 2 }, { turnCount: 2 }, { type: 'stop', reason: 'max_turns' }],
    [
      'the deadline has come',
      { timeoutSeconds: 5 },
      { elapsedSeconds: 5 },
      { type: 'stop', reason: 'rollout_timeout' },
    ],
    [
      'the deadline is checked first',
      { timeoutSeconds: 5, maxTurns: 0, maxRolloutTokens: 1 },
      { elapsedSeconds: 9 },
      { type: 'stop', reason: 'rollout_timeout' },
    ],
    [
      'turns before tokens',
      { maxTurns: 1, maxRolloutTokens: 1 },
      { turnCount: 1 },
      { type: 'stop', reason: 'max_turns' },
    ],
    ['room of two tokens is room', { maxRolloutTokens: 12 }, {}, { type: 'sample', maxTokens: 2 }],
    ['room of one is none', { maxRolloutTokens: 11 }, {}, { type: 'stop', reason: 'max_tokens' }],
    ['a first prompt that is too long', { maxRolloutTokens: 5 }, {}, { type: 'stop', reason: 'max_tokens' }],
    [
      'one sampled token left is none',
      { maxSampledTokens: 8 },
      { sampledTokenCount: 7 },
      { type: 'stop', reason: 'max_sampled_tokens' },
    ],
    [
      'both used up is the rollout',
      { maxRolloutTokens: 10, maxSampledTokens: 8 },
      { sampledTokenCount: 8 },
      { type: 'stop', reason: 'max_tokens' },
    ],
    [
      'the least bound counts',
      { maxRolloutTokens: 30, maxSampledTokens: 16, maxTurnTokens: 9 },
      { sampledTokenCount: 8 },
      { type: 'sample', maxTokens: 8 },
    ],
    ['one token a turn may be asked for', { maxTurnTokens: 1 }, {}, { type: 'sample', maxTokens: 1 }],
  ])('%s', (_name, limits, progress, expected) => {
    expect(nextTurn({ ...NO_LIMITS, ...limits }, { ...START, ...progress })).toEqual(expected);
  });

  test('messages that a hook adds count before the budgets are asked', () => {
    const limits = { ...NO_LIMITS, maxTurns: 3, maxRolloutTokens: 20 };

    expect(stopBeforeTurn(limits, START)).toBeNull();
    expect(budgetStop(limits, START)).toBeNull();
    expect(budgetStop(limits, { ...START, observationTokenCount: 19 })).toBe('max_tokens');
  });

  test('a budget whose stop a hook took back does not bound the turn it allowed', () => {
    const limits = { ...NO_LIMITS, maxRolloutTokens: 10, maxSampledTokens: 50 };

    expect(budgetStop(limits, START)).toBe('max_tokens');
    expect(turnBudget(limits, START)).toBe(50);
    expect(turnBudget({ ...limits, maxSampledTokens: null }, START)).toBeNull();
  });
});

test.each([
  ['without limit all are made', null, 40, 5, { callCount: 5, stopReason: null }],
  ['the last allowed one does not stop', 3, 2, 1, { callCount: 1, stopReason: null }],
  ['no call needs no room', 3, 3, 0, { callCount: 0, stopReason: null }],
  ['a batch is cut where the room ends', 3, 1, 4, { callCount: 2, stopReason: 'max_tool_calls' }],
  ['nothing is made without room', 3, 3, 1, { callCount: 0, stopReason: 'max_tool_calls' }],
])('tool calls: %s', (_name, maxToolCalls, madeCount, requestedCount, expected) => {
  expect(allowedToolCalls({ maxToolCalls }, { madeCount, requestedCount })).toEqual(expected);
});

test('an observation that leaves less than a turn reserves does not fit', () => {
  const next = { observationTokenCount: 90, reservedTokenCount: 10 };

  expect(overflowsContext({ maxRolloutTokens: 100 }, next)).toBe(false);
  expect(overflowsContext({ maxRolloutTokens: 99 }, next)).toBe(true);
  expect(overflowsContext({ maxRolloutTokens: null }, next)).toBe(false);
});

describe('the end of a rollout', () => {
  test('is marked on its last turn, in place of a reason the environment gave', () => {
    const turns = [turn([1], [2]), turn([1, 2], [3], { metrics: { 'stop/completed': 1, correct: 1 } })];

    const ended = endRollout(turns, 'judge_tired', 3);

    expect(ended.stopReason).toBe('judge_tired');
    expect(ended.transitions.map(({ isDone, metrics }) => [isDone, metrics])).toEqual([
      [false, {}],
      [true, { correct: 1, 'stop/judge_tired': 1 }],
    ]);
    expect(turns[1]?.metrics).toEqual({ 'stop/completed': 1, correct: 1 });
  });

  test('counts the turns that were cut and gone on from', () => {
    const cut = { stopReason: 'length' } as const;
    const turns = [turn([1], [2], cut), turn([1, 2], [3], cut), turn([1, 2, 3], [4], cut)];

    expect(endRollout(turns, 'max_turns', 0).transitions[2]?.metrics).toEqual({
      'stop/max_turns': 1,
      num_truncations_max_turn_tokens: 3,
    });
    const byEnvironment = [...turns.slice(0, 2), turn([1, 2, 3], [4], { ...cut, isDone: true })];
    expect(endRollout(byEnvironment, 'max_tokens', 0).transitions[2]?.metrics).toEqual({
      'stop/max_tokens': 1,
      num_truncations_max_turn_tokens: 2,
    });
  });

  test('before the first turn leaves a turn without tokens', () => {
    const ended = endRollout([], 'max_tokens', 4);

    expect(ended.transitions).toEqual([
      turn([], [], { isDone: true, metrics: { 'stop/max_tokens': 1 }, stopReason: null, policyVersion: 4 }),
    ]);
    expect(totalReward(ended)).toBe(0);
  });
});

describe('termination', () => {
  const CLAMP = { ...DEFAULT_TERMINATION, zeroRewardOnLimit: true };
  const earned = (reward: number, finalReward: number, stopReason: string | null) =>
    rollout([turn([1], [2], { reward })], { finalReward, stopReason, metrics: { win: 1 } });

  test('takes the reward of what ran into a limit', () => {
    const clamped = clampRewardOnLimit(earned(1, 0.5, 'max_turns'), CLAMP);

    expect(totalReward(clamped)).toBe(0);
    expect(clamped.finalReward).toBe(-1);
    expect(clamped.metrics).toEqual({ win: 1, zero_reward_on_limit: 1 });
  });

  test.each([
    ['a negative reward', earned(-1, 0.5, 'max_turns'), CLAMP],
    ['a reward of 0', earned(0, 0, 'max_turns'), CLAMP],
    ['the reward of a finished rollout', earned(1, 0, 'completed'), CLAMP],
    ['the reward of what overflowed its context', earned(1, 0, 'context_overflow'), CLAMP],
    ['a rollout that does not say why it ended', earned(1, 0, null), CLAMP],
    ['everything where the policy is off', earned(1, 0, 'max_turns'), DEFAULT_TERMINATION],
    [
      'a reason that is taken off the list',
      earned(1, 0, 'max_turns'),
      { ...CLAMP, limitReasons: ['max_tokens'] },
    ],
  ])('leaves %s', (_name, graded, policy) => {
    expect(clampRewardOnLimit(graded, policy)).toBe(graded);
  });

  test('saves the grader only where its reward would be taken anyway', () => {
    const skip = { ...CLAMP, skipGradingOnTimeout: true };

    expect(shouldGrade('rollout_timeout', skip)).toBe(false);
    expect(shouldGrade('max_turns', skip)).toBe(true);
    expect(shouldGrade('rollout_timeout', { ...skip, zeroRewardOnLimit: false })).toBe(true);
    expect(shouldGrade('rollout_timeout', { ...skip, limitReasons: [] })).toBe(true);
    expect(shouldGrade('rollout_timeout', CLAMP)).toBe(true);
  });
});

describe('parse errors', () => {
  const policy = { ...DEFAULT_PARSE_ERRORS, maxConsecutive: 2, penaltyPerError: 0.25, terminalReward: -1 };
  const error = { kind: 'content', details: 'bad JSON', consecutiveCount: 1, isLastTurn: false } as const;

  test('are corrected for a while, at a price', () => {
    expect(answerParseError(policy, { ...error, consecutiveCount: 2 })).toEqual({
      reward: -0.25,
      metrics: { parse_error: 1 },
      retryMessage: 'The previous message had a formatting issue.\nError: bad JSON',
    });
  });

  test.each([
    ['after too many in a row', policy, { ...error, consecutiveCount: 3 }],
    ['where the message has no end', policy, { ...error, kind: 'structure' as const }],
    ['where no turn is left', policy, { ...error, isLastTurn: true }],
    ['at once by default', { ...DEFAULT_PARSE_ERRORS, terminalReward: -1 }, error],
  ])('end the rollout %s', (_name, rules, found) => {
    expect(answerParseError(rules, found)).toEqual({
      reward: -1,
      metrics: { parse_error: 1 },
      retryMessage: null,
    });
  });

  test('are kept out of the loss where asked, whether corrected or not', () => {
    const masking = { ...policy, maskErrorTurns: true };

    for (const found of [error, { ...error, consecutiveCount: 3 }]) {
      expect(answerParseError(masking, found).metrics).toEqual({ parse_error: 1, parse_error_masked: 1 });
    }
  });

  test('cost nothing by default, not even −0', () => {
    const free = { ...DEFAULT_PARSE_ERRORS, maxConsecutive: 1 };

    expect(Object.is(answerParseError(free, error).reward, 0)).toBe(true);
  });

  test('are quoted as they are, but not at any length', () => {
    const { retryMessage } = answerParseError(policy, { ...error, details: "$& $' {details}" });
    expect(retryMessage).toContain("Error: $& $' {details}");

    const long = answerParseError(policy, { ...error, details: 'x'.repeat(50_000) });
    expect(long.retryMessage?.match(/x/g)).toHaveLength(16_384);
  });
});

test('presets: nothing is bounded, or what an agent needs', () => {
  expect(ROLLOUT_PRESETS.simple).toMatchObject({ limits: NO_LIMITS, parseErrors: null, termination: null });
  expect(ROLLOUT_PRESETS.agentic).toMatchObject({
    limits: { maxTurns: 10, maxRolloutTokens: 65_536, maxToolCalls: 30, maxSampledTokens: null },
    parseErrors: { maxConsecutive: 2 },
    termination: { zeroRewardOnLimit: true, skipGradingOnTimeout: true, graderTimeoutSeconds: 900 },
    toolExecution: 'sequential',
  });
});
