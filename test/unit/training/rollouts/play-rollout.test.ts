import { NO_LIMITS } from '../../../../src/core/reinforcement/limits';
import { DEFAULT_PARSE_ERRORS } from '../../../../src/core/reinforcement/parse-errors';
import { DEFAULT_TERMINATION } from '../../../../src/core/reinforcement/termination';
import { totalReward } from '../../../../src/core/reinforcement/rollout';
import { rolloutDatums } from '../../../../src/core/reinforcement/rollout-datums';
import type { TrainingEnvironment } from '../../../../src/training/environments/environment-dataset';
import { createToolEnvironment } from '../../../../src/training/environments/tools/tool-environment';
import { defineTool } from '../../../../src/training/environments/tools/tool';
import { findRenderer } from '../../../../src/renderers/find-renderer';
import { messageText } from '../../../../src/evaluation/runner/message-text';
import { playRollout } from '../../../../src/training/rollouts/play-rollout';
import { sampleGroup } from '../../../../src/training/rollouts/sample-group';
import type { RolloutSite } from '../../../../src/training/rollouts/rollout-site';
import { z } from 'zod';
import type { Script } from './scripted-policy';
import { scriptedPolicy, siteWith, tokenizer } from './scripted-policy';

const { signal } = new AbortController();
const END = '<|end|>';

function play(site: RolloutSite, environment: TrainingEnvironment) {
  const task = { environment, member: 0, policyVersion: 0, seedOf: (turn: number) => turn };
  return playRollout(site, task, { signal });
}

/** Asks until it has heard "stop", and gives a reward of 1 a turn. */
function asking(over: Partial<TrainingEnvironment> = {}): TrainingEnvironment {
  return {
    initialObservation: () => ({ messages: [{ role: 'user', content: 'go' }] }),
    step: (action) => ({
      reward: 1,
      isDone: messageText(action).includes('stop'),
      nextMessages: [{ role: 'user', content: 'more' }],
    }),
    ...over,
  };
}

function speaking(script: Script, given: Parameters<typeof siteWith>[1] = {}): RolloutSite {
  return siteWith(scriptedPolicy(script), given);
}

const talking = (given: Parameters<typeof siteWith>[1] = {}) => speaking(() => `word${END}`, given);

test('turns of one conversation make one datum, in which the policy answers for its own tokens', async () => {
  let turn = 0;

  const { rollout, messages } = await play(
    speaking(() => (++turn < 3 ? `word ${turn}${END}` : `stop${END}`)),
    asking(),
  );

  expect(rollout.transitions).toHaveLength(3);
  expect(totalReward(rollout)).toBe(3);
  expect(messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
  const datums = rolloutDatums(rollout, 1);
  expect(datums).toHaveLength(1);
  const learnt = [...(datums[0]?.datum.targetTokens ?? [])].filter(
    (_, index) => datums[0]?.mask[index] === 1,
  );
  expect(tokenizer.decode(learnt)).toBe(`word 1${END}word 2${END}stop${END}`);
});

test('text that was sampled in other tokens than the tokenizer writes stays as it was sampled', async () => {
  // The tokenizer writes "<think>" as one token; the policy spells it letter by letter.
  const letters = Array.from('<think>', (letter) => letter.codePointAt(0) ?? 0);
  const end = tokenizer.encode(END, { allowSpecial: true });
  let turn = 0;
  const site = siteWith({
    sample: async () => {
      const text = ++turn < 2 ? letters : tokenizer.encode('stop');
      const tokens = [...text, ...end];
      return {
        sequences: [{ tokens, logprobs: tokens.map(() => -1), stopReason: 'stop' }],
        promptLogprobs: null,
      };
    },
  });

  const { rollout } = await play(site, asking());

  const [first, second] = rollout.transitions;
  const before = [...(first?.observationTokens ?? []), ...(first?.actionTokens ?? [])];
  expect(second?.observationTokens.slice(0, before.length)).toEqual(before);
  expect(tokenizer.decode(second?.observationTokens ?? [])).toContain(`<think>${END}<|user|>more${END}`);
  expect(rolloutDatums(rollout, 1)).toHaveLength(1);
});

test('a tool call that the format writes otherwise stays as the model wrote it', async () => {
  const call = '<tool_call>\n{"name":"echo","arguments":{"text":"hi"}}\n</tool_call><|im_end|>';
  let turn = 0;
  const site = speaking(() => (++turn === 1 ? call : 'done<|im_end|>'), { rendererName: 'qwen3_instruct' });
  const echo = defineTool({
    name: 'echo',
    description: 'Says it again',
    parameters: z.object({ text: z.string() }),
    run: ({ text }) => text,
  });

  const { rollout } = await play(
    site,
    createToolEnvironment({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'go' },
      ],
      tools: [echo],
      grade: () => ({ reward: 1 }),
    }),
  );

  const [first, second] = rollout.transitions.map(({ observationTokens }) =>
    tokenizer.decode(observationTokens),
  );
  expect(first).toContain('Be brief.\n\n# Tools');
  expect(first?.split('Be brief.')).toHaveLength(2);
  expect(second).toContain(`${call}\n<|im_start|>user\n<tool_response>\nhi\n</tool_response><|im_end|>`);
  expect(rolloutDatums(rollout, 1)).toHaveLength(1);
});

test('a format that drops reasoning from history begins a new datum', async () => {
  let turn = 0;
  const site = speaking(
    () =>
      ++turn < 2 ? '<think>\nhm\n</think>\n\nword<|im_end|>' : '<think>\nhm\n</think>\n\nstop<|im_end|>',
    { rendererName: 'qwen3' },
  );

  const { rollout } = await play(site, asking());

  expect(rollout.transitions).toHaveLength(2);
  expect(rolloutDatums(rollout, 1)).toHaveLength(2);
});

describe('limits', () => {
  const limits = NO_LIMITS;
  const cases: [string, Partial<typeof limits>, string, number][] = [
    ['turns', { maxTurns: 3 }, 'max_turns', 3],
    ['sampled tokens', { maxSampledTokens: 11 }, 'max_sampled_tokens', 2],
    ['tokens', { maxRolloutTokens: 40 }, 'max_tokens', 3],
  ];

  test.each(cases)('of %s end a rollout and keep its turns', async (_what, given, reason, turnCount) => {
    const { rollout } = await play(talking({ limits: { ...limits, ...given } }), asking());

    expect(rollout.stopReason).toBe(reason);
    expect(rollout.transitions).toHaveLength(turnCount);
    expect(rollout.transitions.at(-1)).toMatchObject({ isDone: true, metrics: { [`stop/${reason}`]: 1 } });
  });

  test('bound each completion by what is left', async () => {
    const policy = scriptedPolicy(() => `word${END}`);

    await play(siteWith(policy, { limits: { ...limits, maxTurnTokens: 8, maxSampledTokens: 13 } }), asking());

    expect(policy.requests.map(({ params }) => params.maxTokens)).toEqual([8, 8, 3]);
  });

  test('a reply that is cut off ends the rollout unseen, with reward 0', async () => {
    let steps = 0;
    const environment = asking({
      step: () => {
        steps += 1;
        return { reward: 1, isDone: true, nextMessages: [] };
      },
    });

    const { rollout } = await play(talking({ limits: { ...limits, maxTurnTokens: 3 } }), environment);

    expect(steps).toBe(0);
    expect(rollout).toMatchObject({ stopReason: 'max_tokens', finalReward: 0 });
    expect(rollout.transitions[0]).toMatchObject({
      reward: 0,
      stopReason: 'length',
      metrics: { max_tokens_reached: 1 },
    });
  });

  test('a conversation that leaves no room ends as context_overflow and costs a little', async () => {
    const { rollout } = await play(talking({ contextLength: 40 }), asking());

    expect(rollout.stopReason).toBe('context_overflow');
    expect(rollout.transitions).toHaveLength(3);
    expect(rollout.finalReward).toBe(-0.1);
    expect(rollout.metrics).toEqual({ context_overflow: 1 });
  });

  test('a first prompt that is too long is a rollout without a turn', async () => {
    const policy = scriptedPolicy(() => END);

    const { rollout } = await play(siteWith(policy, { contextLength: 5 }), asking());

    expect(policy.requests).toHaveLength(0);
    expect(rollout.stopReason).toBe('context_overflow');
    expect(rolloutDatums(rollout, 1)).toHaveLength(0);
  });

  test('a conversation that no context holds is not turned into tokens', async () => {
    const encode = jest.spyOn(tokenizer, 'encode');
    const flood = 'x'.repeat(5_000_000);
    const environment = asking({
      initialObservation: () => ({ messages: [{ role: 'user', content: flood }] }),
    });

    const { rollout } = await play(talking(), environment);

    expect(rollout.stopReason).toBe('context_overflow');
    const longest = Math.max(0, ...encode.mock.calls.map(([text]) => text.length));
    encode.mockRestore();
    expect(longest).toBeLessThan(1000);
  });

  test.each([
    ['at once', [{ role: 'user', content: 'x'.repeat(5_000_000) }]],
    [
      'in a call',
      [{ role: 'assistant', content: '', toolCalls: [{ name: 'f', arguments: 'x'.repeat(5_000_000) }] }],
    ],
    ['in many messages', Array.from({ length: 50_000 }, () => ({ role: 'user', content: 'x'.repeat(100) }))],
  ])('of what no context holds the beginning is kept, and how much it was: %s', async (_, messages) => {
    const environment = asking({ initialObservation: () => ({ messages }) });

    const { rollout, messages: kept } = await play(talking(), environment);

    expect(rollout.stopReason).toBe('context_overflow');
    const text = JSON.stringify(kept);
    expect(text.length).toBeLessThan(1_000_000);
    expect(text).toMatch(/xxx… and \d+ characters more, which are not kept\./);
  });

  test('an environment may give more messages than a call takes arguments', async () => {
    const messages = Array.from({ length: 200_000 }, () => ({ role: 'user', content: 'many words to read' }));

    const { rollout } = await play(talking(), asking({ initialObservation: () => ({ messages }) }));

    expect(rollout.stopReason).toBe('context_overflow');
  });

  test('at the deadline turns that are done are kept, whatever hangs', async () => {
    const hanging = speaking(
      (prompt) => (prompt.includes('more') ? new Promise(() => undefined) : `word${END}`),
      { limits: { ...limits, timeoutSeconds: 0.1 } },
    );

    const { rollout } = await play(hanging, asking());

    expect(rollout.stopReason).toBe('rollout_timeout');
    expect(rollout.transitions).toHaveLength(1);
    expect(totalReward(rollout)).toBe(1);
  });

  test('a completion that takes too long has failed', async () => {
    const hanging = speaking(() => new Promise(() => undefined), {
      limits: { ...limits, samplingTimeoutSeconds: 0.05 },
    });

    await expect(play(hanging, asking())).rejects.toMatchObject({ type: 'sampling_timeout' });
  });

  test('the clock of the run decides before each turn', async () => {
    let now = 0;
    const site = talking({ limits: { ...limits, timeoutSeconds: 100 }, now: () => (now += 30_000) });

    const { rollout } = await play(site, asking());

    expect(rollout.stopReason).toBe('rollout_timeout');
    expect(rollout.transitions.length).toBeLessThan(4);
  });

  test('an environment that never ends is ended', async () => {
    const { rollout } = await play(
      talking({ contextLength: 1_000_000 }),
      asking({ step: () => ({ reward: 0, isDone: false, nextMessages: [] }) }),
    );

    expect(rollout.stopReason).toBe('max_turns');
  });
});

describe('hooks of an environment', () => {
  test('may put in messages before a turn, which count', async () => {
    const { messages, rollout } = await play(
      talking({ limits: { ...NO_LIMITS, maxTurns: 2 } }),
      asking({ beforeTurn: ({ turn }) => (turn === 1 ? [{ role: 'user', content: 'last one' }] : []) }),
    );

    expect(messages.map(({ content }) => content)).toEqual([
      'go',
      'word',
      'more',
      'last one',
      'word',
      'more',
    ]);
    expect(tokenizer.decode(rollout.transitions[1]?.observationTokens ?? [])).toContain('last one');
  });

  test('grade a rollout that a limit ended, seeing what followed the prompt, and may rename its end', async () => {
    const { rollout } = await play(
      talking({ limits: { ...NO_LIMITS, maxTurns: 1 } }),
      asking({
        nameStop: (reason) => `my_${reason}`,
        gradeEarlyEnd: ({ messages, stopReason }) => ({
          reward: 5,
          metrics: { [stopReason]: messages.length },
        }),
      }),
    );

    expect(rollout.stopReason).toBe('my_max_turns');
    expect(rollout.finalReward).toBe(5);
    expect(rollout.metrics).toEqual({ my_max_turns: 2 });
  });

  test('a grader that hangs has failed', async () => {
    const site = talking({
      limits: { ...NO_LIMITS, maxTurns: 1 },
      termination: { ...DEFAULT_TERMINATION, graderTimeoutSeconds: 0.05 },
    });

    const playing = play(site, asking({ gradeEarlyEnd: () => new Promise(() => undefined) }));

    await expect(playing).rejects.toMatchObject({ type: 'grader_timeout' });
  });
});

test('with the termination policy a rollout that ran into a limit earns nothing, and keeps what it lost', async () => {
  const rewarded = (reward: number) => ({
    id: 'a',
    tags: [],
    make: () => asking({ step: () => ({ reward, isDone: false, nextMessages: [] }) }),
  });
  const site = talking({
    limits: { ...NO_LIMITS, maxTurns: 2 },
    termination: { ...DEFAULT_TERMINATION, zeroRewardOnLimit: true },
  });
  const task = { groupSize: 1, seeds: () => 0, policyVersion: 0 };

  const won = await sampleGroup(site, { ...task, group: rewarded(1) }, { signal });
  const lost = await sampleGroup(site, { ...task, group: rewarded(-1) }, { signal });

  expect(won.rollouts.map(totalReward)).toEqual([0]);
  expect(lost.rollouts.map(totalReward)).toEqual([-2]);
});

describe('replies that cannot be read', () => {
  const echo = defineTool({
    name: 'echo',
    description: 'Says it again',
    parameters: z.object({ text: z.string() }),
    run: ({ text }) => text,
  });
  const environment = () =>
    createToolEnvironment({
      messages: [{ role: 'user', content: 'go' }],
      tools: [echo],
      grade: () => ({ reward: 1 }),
    });
  const badCall = '<tool_call>\n{"name": "echo", "arguments": {bad</tool_call><|im_end|>';
  const rendererName = 'qwen3_instruct';

  test('are the environment’s without a policy', async () => {
    const { rollout } = await play(
      speaking(() => badCall, { rendererName }),
      environment(),
    );

    expect(rollout).toMatchObject({ stopReason: 'parse_error' });
    expect(totalReward(rollout)).toBe(-0.1);
  });

  test('are answered with a correction as often as the policy says, and left out of the loss if it says so', async () => {
    const prompts: string[] = [];
    const site = speaking(
      (prompt) => {
        prompts.push(prompt);
        return prompts.length === 1 ? badCall : 'done<|im_end|>';
      },
      {
        rendererName,
        parseErrors: {
          ...DEFAULT_PARSE_ERRORS,
          maxConsecutive: 1,
          penaltyPerError: 0.25,
          maskErrorTurns: true,
        },
      },
    );

    const { rollout } = await play(site, environment());

    expect(prompts[1]).toContain('{bad</tool_call><|im_end|>');
    expect(prompts[1]).toContain('The previous message had a formatting issue.');
    expect(totalReward(rollout)).toBe(0.75);
    expect(rollout.stopReason).toBe('completed');
    const [datum] = rolloutDatums(rollout, 1);
    const learnt = [...(datum?.datum.targetTokens ?? [])].filter((_, index) => datum?.mask[index] === 1);
    expect(tokenizer.decode(learnt)).toBe('done<|im_end|>');
  });

  test('end the rollout one after the last that is allowed', async () => {
    const site = speaking(() => badCall, {
      rendererName,
      parseErrors: { ...DEFAULT_PARSE_ERRORS, maxConsecutive: 2, terminalReward: -1 },
    });

    const { rollout } = await play(site, environment());

    expect(rollout.transitions).toHaveLength(3);
    expect(rollout.stopReason).toBe('parse_error');
  });

  test('without a proper end they end it at once', async () => {
    const site = speaking(() => 'no end', {
      rendererName,
      parseErrors: { ...DEFAULT_PARSE_ERRORS, maxConsecutive: 9 },
    });

    const { rollout } = await play(site, asking());

    expect(rollout.transitions).toHaveLength(1);
    expect(rollout.stopReason).toBe('parse_error');
  });

  test('calls beside one that cannot be read are made', async () => {
    let turn = 0;
    const good = '<tool_call>\n{"name": "echo", "arguments": {"text": "hi"}}\n</tool_call>\n';
    const site = speaking(() => (++turn === 1 ? `${good}${badCall}` : 'done<|im_end|>'), {
      rendererName,
      parseErrors: DEFAULT_PARSE_ERRORS,
    });

    const { rollout, messages } = await play(site, environment());

    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual(['hi']);
    expect(rollout.transitions[0]?.metrics).toMatchObject({ parse_error: 1, tool_calls: 1 });
  });
});

test('what an environment does to a reply or its tokens changes neither conversation nor training', async () => {
  const calm = await play(
    speaking(() => `stop${END}`),
    asking(),
  );

  const { rollout, messages } = await play(
    speaking(() => `stop${END}`),
    asking({
      step: (action, { tokens = [] }) => {
        Object.assign(action, { content: 'go on' });
        Object.assign(tokens, { 0: 7, length: 1 });
        return { reward: 1, isDone: true, nextMessages: [] };
      },
      gradeEarlyEnd: () => ({ reward: 0 }),
    }),
  );

  expect(messages).toEqual(calm.messages);
  expect(rollout.transitions[0]?.actionTokens).toEqual(calm.rollout.transitions[0]?.actionTokens);
  expect(rolloutDatums(rollout, 1)).toEqual(rolloutDatums(calm.rollout, 1));
});

test('a format without tools is the config’s mistake', async () => {
  const environment = createToolEnvironment({
    messages: [{ role: 'user', content: 'go' }],
    tools: [defineTool({ name: 'a', description: '', parameters: z.object({}), run: () => '' })],
    grade: () => ({ reward: 1 }),
  });

  const site = talking({ renderer: findRenderer('role_colon', tokenizer) });
  await expect(play(site, environment)).rejects.toMatchObject({ code: 'bad-config' });
});

describe('environments of tokens', () => {
  const written = (text: string) => tokenizer.encode(text, { allowSpecial: true });

  /** Prompts with bare text, goes on from what was written, and ends completions at a character of its own. */
  function counting(over: Partial<TrainingEnvironment> = {}): TrainingEnvironment {
    const stop = written('.');
    let read = written('one ');
    let turnCount = 0;
    return {
      initialObservation: () => ({ messages: [], prompt: { tokens: read, stop } }),
      step(_action, { tokens = [], isMalformed }) {
        turnCount += 1;
        expect(isMalformed).toBe(false);
        read = [...read, ...tokens, ...written(' and ')];
        return {
          reward: tokens.length,
          isDone: turnCount === 2,
          nextMessages: [],
          nextPrompt: { tokens: read, stop },
        };
      },
      ...over,
    };
  }

  test('read and write tokens, whatever the prompt format is', async () => {
    const policy = scriptedPolicy((prompt) => (prompt === 'one ' ? 'two.' : 'three.'));

    const { rollout, messages } = await play(siteWith(policy, { tokenizer }), counting());

    expect(policy.requests.map(({ prompt }) => tokenizer.decode(prompt))).toEqual(['one ', 'one two. and ']);
    expect(policy.requests.map(({ params }) => params.stop)).toEqual([written('.'), written('.')]);
    expect(totalReward(rollout)).toBe('two.'.length + 'three.'.length);
    expect(rolloutDatums(rollout, 1)).toHaveLength(1);
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'one '],
      ['assistant', 'two.'],
      ['user', ' and '],
      ['assistant', 'three.'],
    ]);
  });

  test('are not corrected by the policy for replies that cannot be read', async () => {
    const site = speaking(() => 'two.', { tokenizer, parseErrors: DEFAULT_PARSE_ERRORS });

    const { rollout } = await play(site, counting());

    expect(rollout.stopReason).toBe('completed');
    expect(rollout.transitions).toHaveLength(2);
  });

  test.each([
    ['leaves out the next prompt', { step: () => ({ reward: 0, isDone: false, nextMessages: [] }) }],
    ['prompts with nothing', { initialObservation: () => ({ messages: [], prompt: { tokens: [] } }) }],
    [
      'prompts with what is no token',
      { initialObservation: () => ({ messages: [], prompt: { tokens: [0.5] } }) },
    ],
  ])('fail a rollout in which one %s', async (_what, over) => {
    const played = play(
      speaking(() => 'two.', { tokenizer }),
      counting(over),
    );

    await expect(played).rejects.toMatchObject({ type: 'environment_garbage' });
  });
});
