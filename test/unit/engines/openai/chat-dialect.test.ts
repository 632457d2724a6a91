import type { CompletionRequest } from '../../../../src/core/completion';
import { chatDialect } from '../../../../src/engines/openai/chat-dialect';
import { stopReasonOf } from '../../../../src/engines/openai/dialect';

const dialect = chatDialect(() => 'max_tokens');
const params = { maxTokens: 16, temperature: 0, topP: 1 };

function sent(request: Omit<CompletionRequest, 'params'>): unknown {
  return JSON.parse(JSON.stringify(dialect.body({ ...request, params }, 'm')));
}

function read(message: Record<string, unknown>, finishReason = 'stop'): ReturnType<typeof dialect.read> {
  return dialect.read({ message, finish_reason: finishReason }, String);
}

test('calls, their results, names and parts are written in the words of the API', () => {
  const body = sent({
    messages: [
      { role: 'system', content: 'Use tools.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Weather ' },
          { type: 'text', text: 'here?' },
        ],
        name: 'ann',
      },
      {
        role: 'assistant',
        content: [{ type: 'thinking', thinking: 'I need a tool.' }],
        toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"at": "here"}' }],
      },
      { role: 'tool', content: 'rain', toolCallId: 'c1', name: 'weather' },
    ],
    tools: [{ name: 'weather', description: 'Tells it', parameters: { type: 'object' } }],
  });

  expect(body).toMatchObject({
    messages: [
      { role: 'system', content: 'Use tools.' },
      { role: 'user', content: 'Weather here?', name: 'ann' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"at": "here"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'rain' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'weather', description: 'Tells it', parameters: { type: 'object' } },
      },
    ],
  });
});

test('calls and results without ids are tied in their order', () => {
  const call = { name: 'f', arguments: '{}' };
  const body = sent({
    messages: [
      { role: 'assistant', content: '', toolCalls: [call, call] },
      { role: 'tool', content: 'one' },
      { role: 'tool', content: 'two' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: 'three' },
    ],
  }) as { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] };

  const calls = body.messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id);
  const results = body.messages.flatMap(({ tool_call_id }) => tool_call_id ?? []);
  expect(results).toEqual(calls);
  expect(new Set(calls).size).toBe(3);
});

test('what was not asked for is not sent', () => {
  expect(
    Object.keys(sent({ messages: [{ role: 'user', content: 'x' }], tools: [] }) as object).sort(),
  ).toEqual(['max_tokens', 'messages', 'model', 'temperature', 'top_p']);
});

test.each([
  [{ content: 'plain' }, 'plain', 'plain'],
  [{ content: null }, '', ''],
  [
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    'ab',
    'ab',
  ],
  [{ content: 'C', refusal: null }, 'C', 'C'],
  [{ content: 'C', refusal: '' }, 'C', 'C'],
  [
    { content: '4', reasoning_content: 'sum' },
    [
      { type: 'thinking', thinking: 'sum' },
      { type: 'text', text: '4' },
    ],
    '<think>sum</think>4',
  ],
  [
    { content: '4', reasoning: 'sum' },
    [
      { type: 'thinking', thinking: 'sum' },
      { type: 'text', text: '4' },
    ],
    '<think>sum</think>4',
  ],
  [{ content: '4', reasoning_content: '' }, '4', '4'],
  [
    { content: '<think>\nsum\n</think>\n\n4' },
    [
      { type: 'thinking', thinking: 'sum' },
      { type: 'text', text: '4' },
    ],
    '<think>\nsum\n</think>\n\n4',
  ],
  [
    { content: 'sum</think>4' },
    [
      { type: 'thinking', thinking: 'sum' },
      { type: 'text', text: '4' },
    ],
    'sum</think>4',
  ],
  [{ content: 'Use <think> tags' }, 'Use <think> tags', 'Use <think> tags'],
])('%j is read as %j', (message, content, rawText) => {
  expect(read(message)).toEqual({ message: { role: 'assistant', content }, rawText });
});

test('a refusal in place of the content is the text, and known to be one', () => {
  expect(read({ content: null, refusal: 'I cannot.' })).toEqual({
    message: { role: 'assistant', content: 'I cannot.' },
    rawText: 'I cannot.',
    isRefusal: true,
  });
});

test('reasoning that was cut off is not malformed; one that ends without its tag is', () => {
  const cut = read({ content: '<think>on and on' }, 'length');
  const ended = read({ content: '<think>on and on' }, 'stop');

  expect(cut.message.content).toEqual([{ type: 'thinking', thinking: 'on and on' }]);
  expect([cut.isMalformed ?? false, ended.isMalformed]).toEqual([false, true]);
});

test('calls are read with their arguments as they were written', () => {
  const { message, isMalformed } = read({
    content: null,
    tool_calls: [
      { id: 'c1', function: { name: 'f', arguments: '{ "a":1 }' } },
      { function: { name: 'g', arguments: { b: 2 } } },
      { id: '', function: { name: 'h' } },
    ],
  });

  expect(message.toolCalls).toEqual([
    { id: 'c1', name: 'f', arguments: '{ "a":1 }' },
    { name: 'g', arguments: '{"b":2}' },
    { name: 'h', arguments: '{}' },
  ]);
  expect(isMalformed).toBeUndefined();
});

test('a call that cannot be read makes the reply malformed', () => {
  const { message, isMalformed } = read({ content: 'x', tool_calls: [{ function: {} }, null, 7] });

  expect(message).toEqual({ role: 'assistant', content: 'x' });
  expect(isMalformed).toBe(true);
});

test.each([
  ['stop', 'stop'],
  ['tool_calls', 'stop'],
  ['length', 'length'],
  ['LENGTH', 'length'],
  ['content_filter', 'content_filter'],
  ['constructor', 'stop'],
  [null, 'stop'],
])('finish_reason %s is %s', (reason, stop) => {
  expect(stopReasonOf(reason)).toBe(stop);
});

test.each([{ tool_calls: 'x' }, { tool_calls: { name: 'f' } }, { function_call: 'x' }])(
  'calls that are no list of calls make a reply malformed: %j',
  (written) => {
    expect(read({ content: 'hi', ...written })).toMatchObject({ rawText: 'hi', isMalformed: true });
  },
);

test.each([{ tool_calls: null }, { tool_calls: [] }, { function_call: null }])(
  'nothing where calls would stand is no call: %j',
  (written) => {
    expect(read({ content: 'hi', ...written }).isMalformed).toBeUndefined();
  },
);
