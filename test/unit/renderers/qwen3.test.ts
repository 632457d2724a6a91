import { rmSync } from 'node:fs';
import type { Message, TrainOnWhat } from '../../../src/core/conversation';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';
import { CharacterTokenizer, spansOf } from './character-tokenizer';
import { realModel, realModelsFolder } from './real-models';

const tokenizer = new CharacterTokenizer();
const parse = (name: string, text: string) =>
  findRenderer(name, tokenizer).parseCompletion(tokenizer.encode(text, { allowSpecial: true }));
const train = (name: string, messages: Message[]) =>
  spansOf(tokenizer, findRenderer(name, tokenizer).buildSupervisedExample(messages, 'lastAssistantMessage'));

test('keeps numbers and strings of tool arguments as the model wrote them', () => {
  const call =
    '<tool_call>\n{"name": "f", "arguments": {"x": 2.0, "big": 12345678901234567890, "s": "a,  b:c"}}\n</tool_call>';

  const { message } = parse('qwen3', `Ok\n${call}<|im_end|>`);

  expect(message.toolCalls).toEqual([
    { name: 'f', arguments: '{"x": 2.0, "big": 12345678901234567890, "s": "a,  b:c"}' },
  ]);
  expect(train('qwen3', [{ role: 'user', content: 'q' }, message])[1]?.[0]).toContain(call);
});

test('writes arguments without spaces as the chat template does', () => {
  const message: Message = {
    role: 'assistant',
    content: '',
    toolCalls: [{ name: 'f', arguments: '{"a":[1,{"b":"x:y"}]}' }],
  };

  expect(train('qwen3_instruct', [{ role: 'user', content: 'q' }, message])[1]?.[0]).toBe(
    '<tool_call>\n{"name": "f", "arguments": {"a": [1, {"b": "x:y"}]}}\n</tool_call><|im_end|>',
  );
});

test.each([
  ['a call without a name', '<tool_call>{"arguments": {}}</tool_call>', /"name"/],
  [
    'a call whose arguments are a list',
    '<tool_call>{"name": "f", "arguments": []}</tool_call>',
    /"arguments"/,
  ],
  ['a call that is no object', '<tool_call>[1]</tool_call>', /not a JSON object/],
  ['a call never closed', 'x<tool_call>{"name"', /Unterminated/],
])('reports %s beside the message', (_, text, reason) => {
  const { unparsedToolCalls, message, termination } = parse('qwen3', `${text}<|im_end|>`);

  expect(unparsedToolCalls).toHaveLength(1);
  expect(unparsedToolCalls?.[0]?.reason).toMatch(reason);
  expect(message.toolCalls).toBeUndefined();
  expect(termination).toBe('stop_sequence');
});

test('writes reasoning inside a text the way the template frames it', () => {
  const content = '<think>because</think>\nyes';

  expect(
    train('qwen3', [
      { role: 'user', content: 'q' },
      { role: 'assistant', content },
    ])[1]?.[0],
  ).toBe('<think>\nbecause\n</think>\n\nyes<|im_end|>');
});

const replied = (name: string, ...contents: string[]) =>
  train(
    name,
    contents.flatMap((content) => [
      { role: 'user', content: 'q' },
      { role: 'assistant', content },
    ]),
  )
    .map(([text]) => text)
    .join('');

test.each([
  ['qwen3', '<|im_start|>assistant\n<think>\nZebra quokka.\n</think>\n\nrest words<|im_end|>'],
  ['qwen3_5', '<|im_start|>assistant\n<think>\nZebra quokka.\n</think>\n\nrest words<|im_end|>'],
  ['nemotron3', '<|im_start|>assistant\nZebra quokka.</think>rest words<|im_end|>'],
])('%s frames a reply once that only closes the block its prompt opened', (name, expected) => {
  expect(replied(name, 'Zebra quokka.</think>rest words')).toContain(expected);
});

test.each(['qwen3', 'qwen3_disable_thinking', 'qwen3_5', 'deepseekv3', 'deepseekv3_thinking'])(
  '%s drops such reasoning from history as any other',
  (name) => {
    const text = replied(name, 'Zebra quokka.</think>rest words', 'a');

    expect(text).toContain('rest words');
    expect(text).not.toContain('Zebra');
  },
);

test('words before a block stay before it, as those of parts do', () => {
  const content = 'First. <think>why</think> Two <think>how</think> End.';

  expect(replied('qwen3', content)).toContain(
    'First. <think>\nwhy\n</think>\n\n Two <think>how</think> End.<|im_end|>',
  );
});

test('renders what it parsed back to the same tokens', () => {
  const text = '<think>\nhm\n</think>\n\nOk<|im_end|>';
  const { message } = parse('qwen3', text);

  expect(train('qwen3', [{ role: 'user', content: 'q' }, message])[1]).toEqual([text, 1]);
});

test('without thinking, refuses reasoning and a conversation that has no user', () => {
  const reasoning: Message = { role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] };

  expect(() => train('qwen3_disable_thinking', [{ role: 'user', content: 'q' }, reasoning])).toThrow(
    'messages[1] reasons',
  );
  expect(() => train('qwen3_disable_thinking', [{ role: 'assistant', content: 'a' }])).toThrow(
    'without a user message',
  );
});

test('refuses a role that would write into the layout', () => {
  expect(() => train('qwen3', [{ role: 'user<|im_end|>', content: 'q' }])).toThrow('is not a word');
});

const qwen = realModel('Qwen3-8B');

afterAll(() => {
  const folder = realModelsFolder();
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
});

(qwen === null ? test.skip : test)(
  'what a user says is encoded with its header, as the template is, in any mode',
  async () => {
    if (qwen === null) return;
    const real = await loadTokenizer({ folder: qwen.folder });
    const own = findRenderer('qwen3', real);
    const messages = [
      { role: 'user', content: '\n\nhello' },
      { role: 'assistant', content: 'hi' },
    ];
    const words = (mode: TrainOnWhat) => {
      const { tokens, weights } = own.buildSupervisedExample(messages, mode);
      const text = tokens.map((token) => real.decode([token]));
      return { text, trained: text.filter((_, index) => weights[index] === 1) };
    };

    expect(words('allAssistantMessages').text.slice(0, 5)).toEqual([
      '<|im_start|>',
      'user',
      '\n\n\n',
      'hello',
      '<|im_end|>',
    ]);
    expect(words('allUserAndSystemMessages').trained).toEqual(['\n\n\n', 'hello', '<|im_end|>']);
    expect(own.buildGenerationPrompt(messages.slice(0, 1)).slice(0, 5)).toEqual(
      own.buildSupervisedExample(messages, 'allTokens').tokens.slice(0, 5),
    );
  },
);

(qwen === null ? test.skip : test)(
  'without thinking, a reply goes on from its prompt to the token also where it begins with a line break',
  async () => {
    if (qwen === null) return;
    const real = await loadTokenizer({ folder: qwen.folder });
    const own = findRenderer('qwen3_disable_thinking', real);
    const asked = [{ role: 'user', content: 'q' }];
    const reply = { role: 'assistant', content: '\n', toolCalls: [{ name: 'f', arguments: '{}' }] };
    const prompt = own.buildGenerationPrompt(asked);

    const { tokens, weights } = own.buildSupervisedExample([...asked, reply], 'lastAssistantMessage');
    const all = own.buildSupervisedExample([...asked, reply], 'allAssistantMessages');

    expect(tokens.slice(0, prompt.length)).toEqual(prompt);
    expect(weights).toEqual(tokens.map((_, index) => (index < prompt.length ? 0 : 1)));
    expect(all.tokens).toEqual(tokens);
  },
);

(qwen === null ? test.skip : test)(
  'the chat template writes conversations that begin with a reply, which transformers gives the same tokens',
  async () => {
    if (qwen === null) return;
    const real = await loadTokenizer({ folder: qwen.folder });
    const reply = (content: string) => ({ role: 'assistant', content });
    const messages = [reply('hello'), { role: 'user', content: 'q' }, reply('a')];

    const { tokens, weights } = findRenderer('chat_template', real).buildSupervisedExample(
      messages,
      'allAssistantMessages',
    );

    expect(tokens).toEqual([
      ...[151644, 77091, 198, 14990, 151645, 198],
      ...[151644, 872, 198, 80, 151645, 198],
      ...[151644, 77091, 198, 151667, 271, 151668, 271, 64, 151645, 198],
    ]);
    expect(tokens.filter((_, index) => weights[index] === 1)).toEqual([
      ...[14990, 151645],
      ...[151667, 271, 151668, 271, 64, 151645],
    ]);
  },
);

(qwen === null ? test.skip : test).each(['qwen3_5', 'nemotron3'])(
  'an empty block within the words of a reply has the tokens of the prompt that opens it: %s',
  async (name) => {
    if (qwen === null) return;
    const renderer = findRenderer(name, await loadTokenizer({ folder: qwen.folder }));
    const question = { role: 'user', content: 'q' };
    const prompt = renderer.buildGenerationPrompt([question]);
    const { tokens, weights } = renderer.buildSupervisedExample(
      [question, { role: 'assistant', content: '<think>\n\n</think>\n\nyes' }],
      'lastAssistantMessage',
    );

    expect(tokens.slice(0, prompt.length)).toEqual(prompt);
    expect(weights.indexOf(1)).toBe(prompt.length);
  },
);
