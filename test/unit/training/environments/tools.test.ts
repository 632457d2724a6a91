import { z } from 'zod';
import type { Message, ToolCall } from '../../../../src/core/conversation';
import type { ActionFacts } from '../../../../src/core/environment';
import { messageText } from '../../../../src/evaluation/runner/message-text';
import { defineTool } from '../../../../src/training/environments/tools/tool';
import { ToolCalls } from '../../../../src/training/environments/tools/tool-calls';
import { createToolEnvironment } from '../../../../src/training/environments/tools/tool-environment';
import type { ToolProblem } from '../../../../src/training/environments/tools/tool-environment';

const { signal } = new AbortController();
const facts: ActionFacts = { stopReason: 'stop', isMalformed: false, signal };

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers',
  parameters: z.object({ a: z.int().describe('The first'), b: z.int().default(2) }),
  run: ({ a, b }) => ({ content: a + b, metrics: { n: 1 } }),
});
const boom = defineTool({
  name: 'boom',
  description: 'Fails',
  parameters: z.object({}),
  run: () => {
    throw new Error('it blew up');
  },
});
const finish = defineTool({
  name: 'finish',
  description: 'Ends',
  parameters: z.object({}),
  run: () => ({ content: 'ended', shouldStop: true }),
});
const slow = defineTool({
  name: 'slow',
  description: 'Never answers',
  parameters: z.object({}),
  timeoutSeconds: 0.05,
  run: () => new Promise<string>(() => undefined),
});
const once = defineTool({
  name: 'once',
  description: 'May be called once',
  parameters: z.object({}),
  maxCalls: 1,
  run: () => 'ok',
});
const long = defineTool({
  name: 'long',
  description: 'Says a lot',
  parameters: z.object({}),
  run: () => 'x'.repeat(200_000),
});
const TOOLS = [add, boom, finish, slow, once, long];

function call(name: string, given: unknown = {}, id = 'c1'): ToolCall {
  return { id, name, arguments: typeof given === 'string' ? given : JSON.stringify(given) };
}

test('tells the model of its parameters as a JSON schema', () => {
  expect(add.declaration).toMatchObject({
    name: 'add',
    description: 'Adds two numbers',
    parameters: {
      type: 'object',
      properties: { a: { type: 'integer', description: 'The first' }, b: { default: 2 } },
      required: ['a'],
    },
  });
});

const ADD = { name: 'add', description: 'Adds', parameters: z.object({}), run: () => '' };
const { run, ...UNRUN } = ADD;

test.each([
  [
    'a JSON schema',
    { ...ADD, parameters: { type: 'object', properties: {} } },
    'tool "add": parameters must be a schema: z.object({ … }) of the package "zod", or z.fromJSONSchema(schema) around a JSON schema.',
  ],
  ['bare fields', { ...ADD, parameters: { a: z.number() } }, 'Write z.object({ … }) around them.'],
  ['a schema of zod 3', { ...ADD, parameters: { _def: {} } }, 'must be a schema of zod 4'],
  [
    'parameters under another key',
    { ...ADD, parameters: undefined, inputSchema: {} },
    'parameters must be a schema: z.object({ … }) of the package "zod". It has inputSchema, which no tool has.',
  ],
  [
    'a handler',
    { ...UNRUN, handler: run },
    'tool "add": run must be the function that answers a call. It has handler, which no tool has. Name that function "run".',
  ],
  ['a misspelt key', { ...ADD, maxcalls: 1 }, 'Unknown key "maxcalls". Did you mean "maxCalls"?'],
  ['no name', { ...ADD, name: undefined }, 'defineTool: name must be'],
  [
    'what JSON has no type for',
    { ...ADD, parameters: z.object({ at: z.date() }) },
    'cannot be told to a model',
  ],
])('a definition with %s is refused by tool and key', (_what, given, problem) => {
  expect(() => defineTool(given as typeof ADD)).toThrow(problem);
});

test('a declaration in place of a tool is refused', () => {
  const tools: unknown = [{ name: 'add', parameters: {} }];

  expect(() =>
    createToolEnvironment({
      messages: [],
      tools: tools as ToolProblem['tools'],
      grade: () => ({ reward: 0 }),
    }),
  ).toThrow('createToolEnvironment: tools[0] answers no calls. Make it with defineTool(');
});

const answers: [string, ToolCall, unknown, Record<string, number>][] = [
  ['a result', call('add', { a: 1, b: 5 }), '6', { n: 1 }],
  ['a result with a default', call('add', { a: 1 }), '3', { n: 1 }],
  ['a missing argument', call('add'), expect.stringContaining('a'), { 'tool_error/validation_failed': 1 }],
  [
    'arguments that are no object',
    call('add', [1]),
    expect.stringContaining('expected object'),
    { 'tool_error/validation_failed': 1 },
  ],
  [
    'no JSON',
    call('add', '{bad'),
    expect.stringMatching(/^\{"error":"Failed to parse tool arguments: /),
    { 'tool_error/json_decode_failed': 1 },
  ],
  ['an unknown tool', call('nope'), `{"error":"Tool 'nope' not found"}`, { 'tool_error/tool_not_found': 1 }],
  [
    'a tool that throws',
    call('boom'),
    '{"error":"Tool execution failed: it blew up"}',
    { 'tool_error/execution_failed': 1 },
  ],
  [
    'a tool that hangs',
    call('slow'),
    '{"error":"slow gave no answer within 0.05 s"}',
    { 'tool_error/timed_out': 1 },
  ],
];

test.each(answers)('answers %s with a tool message', async (_what, asked, content, metrics) => {
  const turn = await new ToolCalls(TOOLS).make([asked], signal);

  expect(turn.messages).toEqual([{ role: 'tool', content, name: asked.name, toolCallId: 'c1' }]);
  expect(turn.metrics).toMatchObject({ tool_calls: 1, ...metrics });
});

test('answers more calls than a tool allows with an error, and cuts what is too long', async () => {
  const calls = new ToolCalls(TOOLS);

  const turn = await calls.make([call('once'), call('once'), call('long')], signal);

  expect(turn.messages.map(({ content }) => content.slice(0, 60))).toEqual([
    'ok',
    `{"error":"Tool 'once' may be called at most 1 times"}`,
    'x'.repeat(60),
  ]);
  expect(turn.messages[2]?.content).toHaveLength(100_000 + '\n[100000 more characters]'.length);
});

test.each(['parallel', 'sequential'] as const)(
  'makes calls in %s, and answers in the order of the calls',
  async (toolExecution) => {
    let [underWay, most] = [0, 0];
    const wait = defineTool({
      name: 'wait',
      description: '',
      parameters: z.object({ ms: z.number() }),
      run: async ({ ms }) => {
        most = Math.max(most, ++underWay);
        await new Promise((resolve) => setTimeout(resolve, ms));
        underWay -= 1;
        return String(ms);
      },
    });
    const calls = new ToolCalls([wait], { maxToolCalls: null, toolExecution });

    const turn = await calls.make([call('wait', { ms: 20 }), call('wait', { ms: 1 })], signal);

    expect(turn.messages.map(({ content }) => content)).toEqual(['20', '1']);
    expect(most).toBe(toolExecution === 'parallel' ? 2 : 1);
  },
);

describe('an environment with tools', () => {
  const grade: ToolProblem['grade'] = (conversation) => ({
    reward: conversation.length,
    metrics: { graded: 1 },
    answer: conversation.map(messageText).at(-1) ?? null,
  });
  const problem: ToolProblem = { messages: [{ role: 'user', content: 'go' }], tools: TOOLS, grade };

  function saying(content: string, ...toolCalls: readonly ToolCall[]): Message {
    return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) };
  }

  test('goes on while tools are called, and is graded at the answer', async () => {
    const environment = createToolEnvironment(problem);

    const first = await environment.step(saying('', call('add', { a: 1 }), call('boom')), facts);
    const second = await environment.step(saying('3'), facts);

    expect(first).toMatchObject({ reward: 0, isDone: false, metrics: { tool_calls: 2, tool_errors: 1 } });
    expect(first.nextMessages.map(({ content }) => content)).toEqual([
      '3',
      expect.stringContaining('it blew up'),
    ]);
    expect(second).toMatchObject({ reward: 4, isDone: true, stopReason: 'completed', answer: '3' });
  });

  test.each([
    ['a tool ends it', [call('finish')], {}, undefined, 'tool_stopped'],
    [
      'more calls are asked for than allowed',
      [call('add', { a: 1 }), call('add', { a: 2 })],
      {},
      1,
      'max_tool_calls',
    ],
    ['the turns are used up', [call('add', { a: 1 })], { maxTurns: 1 }, undefined, 'max_turns'],
  ])('is graded where %s', async (_what, calls, more, maxToolCalls, stopReason) => {
    const environment = createToolEnvironment(
      { ...problem, ...more },
      { maxToolCalls: maxToolCalls ?? null, toolExecution: 'parallel' },
    );

    const step = await environment.step(saying('', ...calls), facts);

    expect(step).toMatchObject({
      isDone: true,
      stopReason,
      reward: 2,
      metrics: { tool_calls: 1, graded: 1 },
    });
  });

  test('gives nothing for a reply that was cut off, and takes off for one that cannot be read', async () => {
    const cut = await createToolEnvironment(problem).step(saying('3'), { ...facts, stopReason: 'length' });
    const unreadable = await createToolEnvironment(problem).step(saying('3'), {
      ...facts,
      isMalformed: true,
    });

    expect(cut).toMatchObject({ reward: 0, isDone: true, stopReason: 'max_tokens' });
    expect(unreadable).toMatchObject({
      ...{ reward: -0.1, isDone: true, stopReason: 'parse_error' },
      // Graded by what came before, so that its metrics count among all.
      metrics: { parse_error: 1, graded: 1 },
    });
  });
});
