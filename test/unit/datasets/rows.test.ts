import { readMessages } from '../../../src/datasets/messages';
import { toConversation } from '../../../src/datasets/rows';

const user = { role: 'user', content: '7*6?' };
const answer = { role: 'assistant', content: '42' };
const messagesOf = (row: unknown) => toConversation(row).messages;
const withReply = (fields: object) => ({ messages: [user, { ...answer, ...fields }] });

test.each([
  [{ messages: [user, answer], sytem: 'You are Ada.' }, 'unknown field "sytem". Did you mean "system"?'],
  [{ prompt: 'a', completion: 'b', message: 'c' }, 'unknown field "message". Known here: prompt, completion'],
  [{ messages: [user, answer], prompt: 'something else' }, 'unknown field "prompt".'],
  [{ instruction: 'a', output: 'b', inputs: 'c' }, 'unknown field "inputs". Did you mean "input"?'],
  [
    withReply({ reasonning: 'x' }),
    'unknown field "messages[1].reasonning". Did you mean "messages[1].reasoning"?',
  ],
  [withReply({ images: ['x'] }), 'unknown field "messages[1].images".'],
  [withReply({ refusal: 'no' }), 'unknown field "messages[1].refusal".'],
  [withReply({ from: 'gpt', value: 'a' }), 'unknown field "messages[1].role".'],
  [
    withReply({ content: [{ type: 'text', text: 'a', citations: ['b'] }] }),
    'unknown field "messages[1].content[0].citations".',
  ],
  [
    withReply({ tool_calls: [{ function: { name: 'f', arguments: '{}', parameters: { a: 1 } } }] }),
    'unknown field "messages[1].tool_calls[0].function.parameters".',
  ],
  [
    withReply({ tool_calls: [{ name: 'f', argument: '{}', arguments: '{}' }] }),
    'unknown field "messages[1].tool_calls[0].argument". Did you mean "messages[1].tool_calls[0].arguments"?',
  ],
  [
    withReply({ tool_calls: [{ function: { name: 'f', arguments: '' } }] }),
    'field "messages[1].tool_calls[0].function.arguments": expected JSON text, got empty text. A call without arguments has "{}".',
  ],
  [
    withReply({ tool_calls: [{ type: 'custom', function: { name: 'f', arguments: '{}' } }] }),
    'field "messages[1].tool_calls[0].type": expected "function", got "custom".',
  ],
])('refuses what nobody reads, with the nearest key that is read: %j', (row, problem) => {
  expect(() => toConversation(row)).toThrow(problem);
});

test.each([
  [{ system: 'A', history: [{ role: 'system', content: 'B' }] }],
  [{ messages: [{ role: 'system', content: 'A' }, user], history: [{ role: 'system', content: 'B' }] }],
])('refuses a second system prompt in the history: %j', (fields) => {
  expect(() => toConversation({ messages: [user, answer], ...fields })).toThrow(
    'field "system": the row has another system prompt too.',
  );
});

test('the system prompt of a history goes first, as any other', () => {
  const system = { role: 'system', content: 'A' };
  const row = { messages: [system, user, answer], history: [system, user, answer] };

  expect(messagesOf(row).map(({ role }) => role)).toEqual([
    ...['system', 'user', 'assistant'],
    ...['user', 'assistant'],
  ]);
});

test('the name of who speaks is left out by ignoreKeys, that of a tool that answers is not', () => {
  const messages = [
    { role: 'user', name: 'Ann', content: 'a' },
    { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', name: 'f', content: 'c' },
    { role: 'assistant', content: 'd' },
  ];
  const namesOf = (ignored: ReadonlySet<string>) =>
    readMessages(messages, 'messages', ignored).map(({ name }) => name);

  expect(namesOf(new Set())).toEqual(['Ann', undefined, 'f', undefined]);
  expect(namesOf(new Set(['name']))).toEqual([undefined, undefined, 'f', undefined]);
});

test('says how to have a key ignored, and ignores it in rows, messages, parts and calls', () => {
  const row = {
    messages: [
      user,
      {
        ...answer,
        mood: 'glad',
        content: [{ type: 'text', text: '42', mood: 'glad' }],
        tool_calls: [{ name: 'f', arguments: '{}', mood: 'glad' }],
      },
    ],
    mood: 'glad',
  };

  expect(() => toConversation(row)).toThrow('name it in dataset.ignoreKeys');
  expect(toConversation(row, { ignored: new Set(['mood']) }).messages[1]).toEqual({
    role: 'assistant',
    content: [{ type: 'text', text: '42' }],
    toolCalls: [{ name: 'f', arguments: '{}' }],
  });
});

test.each([
  { id: 7, prompt_id: 'a', conversationId: 'b', source: 's', score: 0.5, timestamp: 1, metadata: { a: 1 } },
  { images: null, refusal: null, audio: '', annotations: [] },
])('takes keys that say nothing to a model: %j', (fields) => {
  const row = { messages: [user, { ...answer, ...fields }], ...fields };

  expect(messagesOf(row)).toEqual([user, answer]);
});

test('takes a question that a dataset repeats beside its messages', () => {
  expect(messagesOf({ prompt: '7*6?', messages: [user, answer] })).toEqual([user, answer]);
});

test.each(['reasoning_content', 'reasoning', 'thinking'])('reads reasoning under %s', (key) => {
  expect(messagesOf(withReply({ [key]: 'six sevens' }))[1]?.content).toEqual([
    { type: 'thinking', thinking: 'six sevens' },
    { type: 'text', text: '42' },
  ]);
});

test.each([
  [{ weight: 0 }, false],
  [{ weight: 1 }, true],
  [{ weight: 0n }, false],
  [{ train: false }, false],
  [{ loss_mask: 0 }, false],
  [{ loss_mask: true }, true],
  [{ trainable: false, weight: 0 }, false],
  [{ weight: null }, undefined],
])('reads the mark %p', (mark, trainable) => {
  expect(messagesOf(withReply(mark))[1]?.trainable).toBe(trainable);
});

test.each([
  [{ weight: 0.5 }, 'field "messages[1].weight": expected true or false, got 0.5.'],
  [{ weight: 0, train: true }, 'fields "messages[1].weight" and "messages[1].train" say different things.'],
  [
    { reasoning: 'a', thinking: 'b' },
    'fields "messages[1].reasoning" and "messages[1].thinking" say different',
  ],
])('refuses %j', (fields, problem) => {
  expect(() => toConversation(withReply(fields))).toThrow(problem);
});

test.each([
  ['messages', { messages: [user, answer] }],
  ['prompt and completion', { prompt: '7*6?', completion: '42' }],
  ['lists of messages', { prompt: [user], completion: [answer] }],
  ['Alpaca', { instruction: '7*6?', output: '42' }],
  [
    'ShareGPT',
    {
      conversations: [
        { from: 'human', value: '7*6?' },
        { from: 'GPT', value: '42' },
      ],
    },
  ],
])('puts the system prompt and the history of a row first, in the shape %s', (_, shape) => {
  const pair = { system: 'You are Ada.', history: [['who?', 'Ada']] };
  const listed = {
    system_prompt: 'You are Ada.',
    history: [
      { role: 'user', content: 'who?' },
      { role: 'gpt', content: 'Ada' },
    ],
  };
  const expected = [
    { role: 'system', content: 'You are Ada.' },
    { role: 'user', content: 'who?' },
    { role: 'assistant', content: 'Ada' },
    user,
    answer,
  ];

  expect(messagesOf({ ...shape, ...pair })).toEqual(expected);
  expect(messagesOf({ ...shape, ...listed })).toEqual(expected);
});

test('reads messages and tools that a table holds as JSON text, and refuses a key that stands twice in it', () => {
  const text = '[{"role": "user", "content": "7*6?"}, {"role": "assistant", "content": "42"}]';

  expect(messagesOf({ messages: text })).toEqual([user, answer]);
  expect(
    messagesOf({ conversations: text.replaceAll('role', 'from').replaceAll('content', 'value') }),
  ).toEqual([user, answer]);
  const [asked, replied] = text.slice(1, -1).split(', {');
  const sides = { prompt: `[${asked}]`, completion: `[{${replied}]` };
  expect(messagesOf(sides)).toEqual([user, answer]);
  expect(messagesOf({ prompt: '7*6?', completion: sides.completion })).toEqual([user, answer]);
  for (const said of [
    '[{"role": "x"}]',
    '[{"a": 1, "a": 2}]',
    '[]',
    '[1]',
    '{"role": "user", "content": ""}',
  ])
    expect(messagesOf({ prompt: '7*6?', completion: said })).toEqual([user, { ...answer, content: said }]);
  expect(() => toConversation({ messages: 'words' })).toThrow('expected a list of messages, got text');
  expect(() => toConversation({ messages: text.replace('"role"', '"role": "system", "role"') })).toThrow(
    'field "messages": an object has "role" twice, of which only the last would count. Keep one.',
  );
  expect(() =>
    toConversation({ messages: text, tools: '[{"name": "f", "description": "a", "description": "b"}]' }),
  ).toThrow('field "tools": an object has "description" twice');
  const called = { from: 'function_call', value: '{"name": "f", "arguments": {"a": 1, "a": 2}}' };
  expect(() => toConversation({ conversations: [{ from: 'human', value: 'q' }, called] })).toThrow(
    'field "conversations[1].value": an object has "a" twice',
  );
});

test('leaves out the index that pandas writes, and objects that hold nothing', () => {
  const row = {
    messages: [user, answer],
    __index_level_0__: 7,
    '': 7,
    'Unnamed: 0': 7,
    extra: { a: null, b: [] },
  };

  expect(messagesOf(row)).toEqual([user, answer]);
});

test('says how the messages of a row are numbered where they are not the first, nor under "messages"', () => {
  expect(toConversation({ messages: [user, answer] }).numbers).toBeUndefined();
  expect(toConversation({ messages: [user, answer], system: 'S' }).numbers).toEqual({
    field: 'messages',
    before: 1,
  });
  expect(
    toConversation({
      conversations: [
        { from: 'human', value: 'a' },
        { from: 'gpt', value: 'b' },
      ],
    }).numbers,
  ).toEqual({ field: 'conversations', before: 0 });
});

test('keeps a system prompt that stands in both places once, and refuses two', () => {
  const messages = [{ role: 'system', content: 'S' }, user, answer];

  expect(messagesOf({ messages, system: 'S' })).toEqual(messages);
  expect(() => toConversation({ messages, system: 'T' })).toThrow('field "system": the row has another');
  expect(() => toConversation({ messages: [user], system: 'S', system_prompt: 'T' })).toThrow('another');
});

test.each([
  [[['a']], 'field "history[0]": expected a question and an answer, both text.'],
  [7, 'field "history": expected a list, got number.'],
])('refuses the history %j', (history, problem) => {
  expect(() => toConversation({ instruction: 'a', output: 'b', history })).toThrow(problem);
});

test.each([
  ['human', 'user'],
  ['User', 'user'],
  ['GPT', 'assistant'],
  ['Assistant', 'assistant'],
  ['developer', 'system'],
  ['SYSTEM', 'system'],
  ['function', 'tool'],
  ['ipython', 'ipython'],
])('reads the role %s as %s', (role, read) => {
  expect(messagesOf({ messages: [{ role, content: 'a' }] })[0]?.role).toBe(read);
});

test.each([
  ['asistant', 'got "asistant". Did you mean "assistant"?'],
  ['ai', 'got "ai".'],
  ['bot', 'got "bot".'],
  ['critic', 'got "critic". What the model says is of role assistant.'],
  ['toString', 'got "toString".'],
  ['', 'got empty text.'],
])('refuses the role %j, of which nobody knows whether it carries loss', (role, problem) => {
  const shapes = [
    ['messages[1].role', { messages: [user, { role, content: 'a' }] }],
    ['completion[0].role', { prompt: [user], completion: [{ role, content: 'a' }] }],
    ['conversations[0].from', { conversations: [{ from: role, value: 'a' }] }],
  ] as const;

  for (const [field, row] of shapes) {
    expect(() => toConversation(row)).toThrow(`field "${field}": expected human, user, gpt,`);
    expect(() => toConversation(row)).toThrow(problem);
  }
});

test("reads the calls of OpenAI's older files, with what they declare", () => {
  const row = {
    messages: [
      user,
      { role: 'assistant', content: null, function_call: { name: 'multiply', arguments: '{"a": 7}' } },
      { role: 'function', name: 'multiply', content: '42' },
      answer,
    ],
    functions: [{ name: 'multiply', parameters: { type: 'object', properties: {} } }],
  };

  const { messages, tools } = toConversation(row);

  expect(messages.slice(1, 3)).toEqual([
    { role: 'assistant', content: '', toolCalls: [{ name: 'multiply', arguments: '{"a": 7}' }] },
    { role: 'tool', name: 'multiply', content: '42' },
  ]);
  expect(tools?.map(({ name }) => name)).toEqual(['multiply']);
});

test('reads calls and reasoning of ShareGPT messages', () => {
  const call = { name: 'multiply', arguments: '{"a": 7}' };
  const row = {
    conversations: [
      { from: 'human', value: '7*6?' },
      { from: 'gpt', value: null, tool_calls: [call], reasoning: 'hm' },
    ],
  };

  expect(messagesOf(row)[1]).toEqual({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: '' },
    ],
    toolCalls: [call],
  });
});

test('refuses a message that calls in two ways', () => {
  const call = { name: 'f', arguments: '{}' };

  expect(() => toConversation(withReply({ tool_calls: [call], function_call: call }))).toThrow(
    'fields "messages[1].tool_calls" and "messages[1].function_call" both call.',
  );
});

test('reads the calls that ShareGPT files have under a role of their own', () => {
  const call = '{"name": "multiply", "arguments": {"a": 7.0}}';
  const row = (value: string) => ({
    conversations: [
      { from: 'human', value: '7*6?' },
      { from: 'function_call', value },
      { from: 'observation', value: '42' },
      { from: 'gpt', value: '42' },
    ],
  });
  const toolCalls = [{ name: 'multiply', arguments: '{"a":7.0}' }];

  expect(messagesOf(row(call))[1]).toEqual({ role: 'assistant', content: '', toolCalls });
  expect(messagesOf(row(`[${call}, ${call}]`))[1]?.toolCalls).toEqual([...toolCalls, ...toolCalls]);
  for (const value of ['multiply(7)', '[]', '7', '{"name": ""}'])
    expect(() => toConversation(row(value))).toThrow(/conversations\[1\]/);
});

test('trains the completion alone: what a prompt holds was said before', () => {
  const earlier = [user, { role: 'assistant', content: '41' }];

  const { messages } = toConversation({ prompt: [...earlier, user], completion: [answer] });

  expect(messages.map(({ trainable }) => trainable)).toEqual([undefined, false, undefined, undefined]);
  expect(toConversation({ messages: [...earlier, user, answer] }).messages[1]?.trainable).toBeUndefined();
});

test.each([
  [withReply({ tool_call_id: 'a' }), 'field "messages[1].tool_call_id": a message of role assistant answers'],
  [
    withReply({ tool_calls: [{ name: ' ', arguments: '{}' }] }),
    'field "messages[1].tool_calls[0].name": expected the name of a tool',
  ],
  [
    withReply({
      tool_calls: [
        { id: 'a', name: 'f', arguments: '{}' },
        { id: 'a', name: 'g', arguments: '{}' },
      ],
    }),
    'field "messages[1].tool_calls": two calls have the id "a".',
  ],
  [{ messages: [user, answer], tools: [{ name: '' }] }, 'field "tools[0].name": expected the name of a tool'],
])('refuses %j', (row, problem) => {
  expect(() => toConversation(row)).toThrow(problem);
});

test('refuses keys and roles of a million letters at once, in a few words', () => {
  const long = 'x'.repeat(1_000_000);

  for (const row of [{ messages: [user, answer], [long]: 1 }, { messages: [{ role: long, content: 'a' }] }])
    expect(() => toConversation(row)).toThrow(/^(?!.*x{300}).*xxx/);
});

test('says no more of a row than can be read', () => {
  const content = [{ type: 'x'.repeat(1_000_000), text: 'a' }];

  expect(() => toConversation({ messages: [{ role: 'user', content }] })).toThrow(/^.{1,2001}$/);
});
