import type { Tokenizer } from '../../../../src/core/tokenizer';
import type { ParsedReply, Renderer } from '../../../../src/renderers/renderer';
import { readMessages, readTools } from '../../../../src/server/gateway/chat-messages';
import { readChoice } from '../../../../src/server/gateway/chat-answer';
import { AnsweredMessage, ChatBody } from '../../../../src/server/gateway/chat-schemas';
import type { DrawnChoice } from '../../../../src/server/gateway/draw';
import { readModelName } from '../../../../src/server/gateway/model-name';

const END = 99;
const tokenizer: Tokenizer = {
  encode: (text) => Array.from(Buffer.from(text)),
  decode: (tokens) => tokens.map((token) => String.fromCodePoint(token)).join(''),
  vocabSize: 128,
  bosToken: null,
  eosToken: null,
  eosTokenId: null,
  isSpecial: (token) => token === END,
};

function rendererSaying(reply: ParsedReply, heard: number[][] = []): Renderer {
  return {
    name: 'test',
    hasExtensionProperty: true,
    buildGenerationPrompt: () => [],
    buildSupervisedExample: () => ({ tokens: [], weights: [] }),
    parseCompletion: (tokens) => {
      heard.push([...tokens]);
      return reply;
    },
    declareTools: () => [],
    stopSequences: () => [END],
  };
}

function choice(more: Partial<DrawnChoice> = {}): DrawnChoice {
  return {
    ...{ tokens: [65], rest: '', isCut: false, endToken: END, logprobs: [-0.5, -0.1] },
    ...{ finish: 'stop', drawnCount: 2, ...more },
  };
}

const OPTIONS = { index: 0, tokenizer, wantsLogprobs: false };

test('gives calls as OpenAI has them, with the arguments as the model wrote them', () => {
  const renderer = rendererSaying({
    message: { role: 'assistant', content: '', toolCalls: [{ name: 'add', arguments: '{"a": 1.0}' }] },
    termination: 'stop_sequence',
  });

  const { message, finish_reason: finish } = readChoice(choice(), { ...OPTIONS, renderer });

  expect(finish).toBe('tool_calls');
  expect(message).toMatchObject({
    content: null,
    tool_calls: [{ type: 'function', function: { name: 'add', arguments: '{"a": 1.0}' } }],
  });
  expect(message.tool_calls?.[0]?.id).toMatch(/^call_[0-9a-f]{24}$/);
  AnsweredMessage.parse(message);
});

test('gives the first of several calls alone where the client asks for no more', () => {
  const toolCalls = ['a', 'b'].map((name) => ({ name, arguments: '{}' }));
  const renderer = rendererSaying({
    message: { role: 'assistant', content: '', toolCalls },
    termination: 'stop_sequence',
  });
  const namesOf = (isOneCall: boolean) =>
    readChoice(choice(), { ...OPTIONS, renderer, isOneCall }).message.tool_calls?.map(
      (call) => call.function.name,
    );

  expect(namesOf(true)).toEqual(['a']);
  expect(namesOf(false)).toEqual(['a', 'b']);
});

test('keeps an id that the model wrote, because its next turn refers to it', () => {
  const toolCalls = [{ id: 'functions.add:0', name: 'add', arguments: '{}' }];
  const renderer = rendererSaying({
    message: { role: 'assistant', content: 'x', toolCalls },
    termination: 'stop_sequence',
  });

  expect(readChoice(choice(), { ...OPTIONS, renderer }).message.tool_calls?.[0]?.id).toBe('functions.add:0');
});

test('shows a call that cannot be read as it was written', () => {
  const renderer = rendererSaying({
    message: { role: 'assistant', content: 'so:' },
    termination: 'stop_sequence',
    unparsedToolCalls: [{ rawText: '<tool_call>{bad</tool_call>', reason: 'no JSON' }],
  });

  const { message, finish_reason: finish } = readChoice(choice(), { ...OPTIONS, renderer });

  expect(message.content).toBe('so:<tool_call>{bad</tool_call>');
  expect(finish).toBe('stop');
});

test('tells reasoning apart from what was said', () => {
  const renderer = rendererSaying({
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: '4' },
      ],
    },
    termination: 'stop_sequence',
  });

  expect(readChoice(choice(), { ...OPTIONS, renderer }).message).toMatchObject({
    content: '4',
    reasoning_content: 'hm',
  });
});

test('a completion that a text of the client ended is read as one that ended by itself', () => {
  const heard: number[][] = [];
  const renderer = rendererSaying(
    { message: { role: 'assistant', content: 'AB' }, termination: 'stop_sequence' },
    heard,
  );

  readChoice(choice({ tokens: [65], rest: 'B', isCut: true, endToken: null }), { ...OPTIONS, renderer });

  expect(heard).toEqual([[65, 66, END]]);
});

test('a completion cut off by its length keeps its reason even when a call was read from it', () => {
  const renderer = rendererSaying({
    message: { role: 'assistant', content: '', toolCalls: [{ name: 'f', arguments: '{}' }] },
    termination: 'malformed',
  });

  const cutOff = choice({ finish: 'length', endToken: null });

  expect(readChoice(cutOff, { ...OPTIONS, renderer }).finish_reason).toBe('length');
});

test('log-probabilities name each token but the stop, and none is infinite', () => {
  const renderer = rendererSaying({
    message: { role: 'assistant', content: 'A' },
    termination: 'stop_sequence',
  });
  const drawn = choice({ logprobs: [-Infinity, 0] });

  const { logprobs } = readChoice(drawn, { ...OPTIONS, renderer, wantsLogprobs: true });

  expect(logprobs).toEqual({
    content: [{ token: 'A', logprob: -9999, bytes: [65], top_logprobs: [] }],
    refusal: null,
  });
});

describe('messages', () => {
  const parse = (messages: unknown[], more: object = {}) => ChatBody.parse({ model: 'm', messages, ...more });

  test('become those that renderers know', () => {
    const body = parse([
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'be ' },
          { type: 'text', text: 'brief' },
        ],
      },
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'hm',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', content: '4', tool_call_id: 'c1' },
    ]);

    expect(readMessages(body.messages)).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: '' },
        ],
        toolCalls: [{ id: 'c1', name: 'f', arguments: '{}' }],
      },
      { role: 'tool', content: '4', toolCallId: 'c1' },
    ]);
  });

  test('keep the names of who speaks, for the renderer to write or refuse', () => {
    const { messages } = parse([
      { role: 'user', content: 'hi', name: 'Bob' },
      { role: 'assistant', content: 'ho', name: '' },
    ]);

    expect(readMessages(messages)).toEqual([
      { role: 'user', content: 'hi', name: 'Bob' },
      { role: 'assistant', content: 'ho' },
    ]);
  });

  test('that say nothing are refused', () => {
    const { messages } = parse([{ role: 'assistant', content: '' }]);

    expect(() => readMessages(messages)).toThrow('needs content or tool_calls');
  });

  test.each([
    ['an image', [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }], {}],
    [
      'the schema of a tool under another name',
      [{ role: 'user', content: 'x' }],
      { tools: [{ type: 'function', function: { name: 'f', input_schema: { type: 'object' } } }] },
    ],
    ['a penalty', [{ role: 'user', content: 'x' }], { presence_penalty: 0.5 }],
    ['a call that is forced', [{ role: 'user', content: 'x' }], { tool_choice: 'required' }],
    ['a form of the answer', [{ role: 'user', content: 'x' }], { response_format: { type: 'json_object' } }],
    ['a field nobody knows', [{ role: 'user', content: 'x' }], { wat: 1 }],
    ['NaN written as text', [{ role: 'user', content: 'x' }], { temperature: 'NaN' }],
  ])('with %s, which would be left out without a word, are refused', (_what, messages, more) => {
    expect(ChatBody.safeParse({ model: 'm', messages, ...more }).success).toBe(false);
  });

  test.each([
    [{ presence_penalty: 0.5 }, 'Penalties are not supported'],
    [{ response_format: { type: 'json_object' } }, 'Answers cannot be forced into a format'],
  ])('%j is refused with what to give instead', (more, words) => {
    const { error } = ChatBody.safeParse({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...more });

    expect(error?.issues[0]?.message).toContain(words);
  });

  test('tools are declared unless they are switched off', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];

    const messages = [{ role: 'user', content: 'x' }];
    expect(readTools(parse(messages, { tools }))).toEqual([{ name: 'f', parameters: { type: 'object' } }]);
    expect(readTools(parse(messages, { tools, tool_choice: 'none' }))).toEqual([]);
  });
});

describe('names of models', () => {
  test.each([
    ['my-run@100', { kind: 'run', run: 'my-run', step: 100 }],
    ['my-run@best', { kind: 'run', run: 'my-run', step: 'best' }],
    ['my-run', { kind: 'name', name: 'my-run' }],
    ['Qwen/Qwen3-8B', { kind: 'name', name: 'Qwen/Qwen3-8B' }],
    ['tinker://r/sampler_weights/1', { kind: 'path', path: 'tinker://r/sampler_weights/1', baseModel: null }],
    ['Qwen/Q=tinker://r/1', { kind: 'path', path: 'tinker://r/1', baseModel: 'Qwen/Q' }],
  ])('%s', (text, name) => {
    expect(readModelName(text)).toEqual(name);
  });

  test.each(['../x@1', 'run@', 'run@-1', 'run@1e3', '@5', 'a/b@5'])('%s names none', (text) => {
    expect(() => readModelName(text)).toThrow('names no model');
  });
});
