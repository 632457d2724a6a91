import type { Message } from '../../../src/core/conversation';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { findDialect } from '../../../src/renderers/template-dialects';
import type { ChatTokenizer } from '../../../src/renderers/tokenizers/hugging-face-tokenizer';
import { CharacterTokenizer, spansOf } from './character-tokenizer';

const CHATML = `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;
const FORGETFUL = `{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}{% if message.reasoning_content and loop.last %}{{ '<think>' + message.reasoning_content + '</think>' }}{% endif %}{{ message.content + '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;
const STRICT = `{{ bos_token }}{% for message in messages %}{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}{% if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}{% else %}{{ ' ' + message.content + eos_token }}{% endif %}{% endfor %}`;

function withTemplate(chatTemplate: string | null): ChatTokenizer {
  return Object.assign(new CharacterTokenizer(), { chatTemplate, source: 'org/model', longestToken: null });
}

const rendererOf = (template: string) => findRenderer('chat_template', withTemplate(template));
const tokenizer = new CharacterTokenizer();
const conversation: Message[] = [
  { role: 'system', content: 'S' },
  { role: 'user', content: 'a' },
  { role: 'assistant', content: 'b' },
  { role: 'user', content: 'c' },
  { role: 'assistant', content: 'd' },
];
const reasoned: Message[] = [
  { role: 'user', content: 'a' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'b' },
    ],
  },
  { role: 'user', content: 'c' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'so' },
      { type: 'text', text: 'd' },
    ],
  },
];

test('renders the prompt of the template, with prefill', () => {
  const prompt = rendererOf(CHATML).buildGenerationPrompt(conversation.slice(0, 2), { prefill: 'Well' });

  expect(tokenizer.decode(prompt)).toBe(
    '<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nWell',
  );
});

test('trains replies and their stop token, not the line break the template adds after it', () => {
  const example = rendererOf(CHATML).buildSupervisedExample(conversation, 'allAssistantMessages');

  expect(spansOf(tokenizer, example)).toEqual([
    ['<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n', 0],
    ['b<|im_end|>', 1],
    ['\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n', 0],
    ['d<|im_end|>', 1],
    ['\n', 0],
  ]);
});

test('gives headers no loss, but in allTokens', () => {
  const renderer = rendererOf(CHATML);

  expect(
    spansOf(tokenizer, renderer.buildSupervisedExample(conversation.slice(0, 2), 'allMessages')),
  ).toEqual([
    ['<|im_start|>system\n', 0],
    ['S<|im_end|>', 1],
    ['\n<|im_start|>user\n', 0],
    ['a<|im_end|>', 1],
    ['\n', 0],
  ]);
  expect(
    renderer.buildSupervisedExample(conversation, 'allTokens').weights.every((weight) => weight === 1),
  ).toBe(true);
});

test('finds the stop token in the template and parses by it', () => {
  const renderer = rendererOf(CHATML);
  const parse = (text: string) => renderer.parseCompletion(tokenizer.encode(text, { allowSpecial: true }));

  expect(renderer.stopSequences()).toEqual(tokenizer.encode('<|im_end|>', { allowSpecial: true }));
  expect(parse('4<|im_end|>')).toEqual({
    message: { role: 'assistant', content: '4' },
    termination: 'stop_sequence',
  });
  expect(parse('4</s>').termination).toBe('eos');
  expect(parse('4').termination).toBe('malformed');
  expect(parse('4<|im_end|>5<|im_end|>').termination).toBe('malformed');
  expect(rendererOf(STRICT).stopSequences()).toEqual([tokenizer.eosTokenId]);
});

test('a template that drops reasoning from history trains the last reply and refuses earlier ones by name', () => {
  const renderer = rendererOf(FORGETFUL);

  expect(spansOf(tokenizer, renderer.buildSupervisedExample(reasoned, 'lastAssistantMessage'))).toEqual([
    [
      '<s><|im_start|>user\na<|im_end|><|im_start|>assistant\nb<|im_end|><|im_start|>user\nc<|im_end|><|im_start|>assistant\n',
      0,
    ],
    ['<think>so</think>d<|im_end|>', 1],
  ]);
  expect(() => renderer.buildSupervisedExample(reasoned, 'allAssistantMessages')).toThrow(
    'writes the first 2 messages differently when more follow',
  );
  expect(renderer.hasExtensionProperty).toBe(false);
  expect(rendererOf(CHATML).hasExtensionProperty).toBe(true);
});

/** Writes end-of-text after a finished conversation, loops over tool calls unasked, and puts arguments into the text. */
const AWKWARD = `{% for message in messages %}{{ '<|' + message.role + '|>' + message.content }}{% for call in message.tool_calls %}{{ '(' + call.function.name + call.function.arguments + ')' }}{% endfor %}{{ '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}`;

test('copes with templates that close the conversation or read tool calls in their own way', () => {
  const calling: Message[] = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'x', toolCalls: [{ name: 'f', arguments: '{"a": 1}' }] },
    { role: 'tool', content: 't' },
    { role: 'assistant', content: 'd' },
  ];

  const example = rendererOf(AWKWARD).buildSupervisedExample(calling, 'allMessages');

  expect(spansOf(tokenizer, example)).toEqual([
    ['<|user|>', 0],
    ['q<|end|>', 1],
    ['<|assistant|>', 0],
    ['x(f{"a": 1})<|end|>', 1],
    ['<|tool|>', 0],
    ['t<|end|>', 1],
    ['<|assistant|>', 0],
    ['d<|end|>', 1],
    ['</s>', 0],
  ]);
});

const TOOLS = [{ name: 'f', description: 'D', parameters: { type: 'object', properties: {} } }];
const HERMES = `{% if tools %}{{ '<|system|>' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<|end|>' }}{% endif %}{% for message in messages %}{{ '<|' + message.role + '|>' + message.content }}{% for call in message.tool_calls %}{{ '<tool_call>' + call.function | tojson + '</tool_call>' }}{% endfor %}{{ '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|><think>\n' }}{% endif %}`;

test('hands declared tools to the template, and reads the calls and reasoning of its dialect', () => {
  const renderer = rendererOf(HERMES);
  const declared = renderer.declareTools(TOOLS, 'S');

  const prompt = tokenizer.decode(
    renderer.buildGenerationPrompt([...declared, { role: 'user', content: 'q' }]),
  );
  const parsed = renderer.parseCompletion(
    tokenizer.encode(
      'hm\n</think>\n\nx<tool_call>{"name": "f", "arguments": {"a": 2.0}}</tool_call><|end|>',
      {
        allowSpecial: true,
      },
    ),
  );

  expect(prompt).toBe(
    '<|system|>{"type": "function", "function": {"name": "f", "description": "D", "parameters": {"type": "object", "properties": {}}}}<|end|>' +
      '<|system|>S<|end|><|user|>q<|end|><|assistant|><think>\n',
  );
  expect(parsed).toEqual({
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'x' },
      ],
      toolCalls: [{ name: 'f', arguments: '{"a": 2.0}' }],
    },
    termination: 'stop_sequence',
  });
});

test('a declaration of tools carries no loss but in allTokens', () => {
  const renderer = rendererOf(HERMES.replace('<think>\n', ''));
  const messages = [...renderer.declareTools(TOOLS, ''), ...conversation.slice(1, 3)];

  const spans = spansOf(tokenizer, renderer.buildSupervisedExample(messages, 'allMessages'));

  expect(spans.filter(([, weight]) => weight === 1).map(([text]) => text)).toEqual(['a<|end|>', 'b<|end|>']);
});

test('says that a template knows no tools', () => {
  expect(() => rendererOf(CHATML).declareTools(TOOLS, '')).toThrow(
    'The chat template of "org/model" declares no tools',
  );
  expect(rendererOf(CHATML).declareTools([], 'S')).toEqual([{ role: 'system', content: 'S' }]);
});

test.each([
  ['<|channel|>', '<|channel|>final<|message|>x<|end|> to=functions.f<|message|>{"a": 1}'],
  [
    '<｜tool▁calls▁begin｜>',
    'x<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  [
    '<|tool_calls_section_begin|>',
    'x<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_calls_section_end|>',
  ],
  ['[TOOL_CALLS]', 'x[TOOL_CALLS][{"name": "f", "arguments": {"a":1}}]'],
  ['[TOOL_CALLS]', 'x[TOOL_CALLS]f[ARGS]{"a": 1}'],
  ['<tool_call>', 'x<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>'],
  ['"parameters": ', '{"name": "f", "parameters": {"a": 1}}'],
])('reads calls as a template with %j writes them: %j', (marker, text) => {
  const { message, unparsedToolCalls } = findDialect(marker, '').parseReply(text);

  expect(message.toolCalls?.map((call) => [call.name, call.arguments.replace(' ', '')])).toEqual([
    ['f', '{"a":1}'],
  ]);
  expect(unparsedToolCalls).toBeUndefined();
});

test.each([
  ['[TOOL_CALLS]', '[TOOL_CALLS][{"name": 1}]', '"name" field'],
  ['[TOOL_CALLS]', '[TOOL_CALLS]f[ARGS]{', 'Invalid JSON'],
  ['"parameters": ', '{"name": "f", "parameters": 3}', 'not a JSON object'],
])('reports what a template with %j does not write: %j', (marker, text, reason) => {
  const { unparsedToolCalls } = findDialect(marker, '').parseReply(text);

  expect(unparsedToolCalls?.map((call) => call.reason)).toEqual([expect.stringContaining(reason)]);
});

test('a template that knows no calls has none in its replies', () => {
  const text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>';

  expect(findDialect('{{ messages }}', '').parseReply(text)).toEqual({
    message: { role: 'assistant', content: text },
  });
});

test('writes the same prompt on every day', () => {
  const renderer = rendererOf(`{{ strftime_now('%d %b %Y') }}${CHATML}`);

  expect(tokenizer.decode(renderer.buildGenerationPrompt([{ role: 'user', content: 'a' }]))).toMatch(
    /^26 Jul 2024</,
  );
});

test('passes on what the template refuses', () => {
  expect(() => rendererOf(STRICT).buildGenerationPrompt(conversation)).toThrow(
    'refuses the conversation (system, user, assistant, user, assistant): Roles must alternate',
  );
});

test('refuses a tokenizer without a template', () => {
  expect(() => findRenderer('chat_template', withTemplate(null))).toThrow(
    'needs a tokenizer with a chat template',
  );
  expect(() => findRenderer('chat_template', tokenizer)).toThrow('needs a tokenizer with a chat template');
});

const HARMONIC = `{% for message in messages %}{% if 'thinking' in message %}{{ '<|channel|>' + message.thinking + '<|end|>' }}{% endif %}{{ message.content + '<|im_end|>' }}{% endfor %}`;
const OPENS_REASONING = `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}{% if message.role == 'assistant' %}{% if message.reasoning_content %}{{ '<think>' + message.reasoning_content }}{% endif %}{{ '</think>' }}{% endif %}{{ message.content + '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>' }}{% endif %}`;

test('gives reasoning in the field that the template reads', () => {
  const { tokens } = rendererOf(HARMONIC).buildSupervisedExample(reasoned.slice(0, 2), 'allTokens');

  expect(tokenizer.decode(tokens)).toBe('a<|im_end|><|channel|>hm<|end|>b<|im_end|>');
});

test.each([
  ['that did not reason', conversation.slice(1, 3), '</think>b<|im_end|>'],
  ['that reasoned', reasoned.slice(0, 2), 'hm</think>b<|im_end|>'],
])('trains a reply %s after a prompt that opens reasoning', (_what, messages, said) => {
  const example = rendererOf(OPENS_REASONING).buildSupervisedExample(messages, 'lastAssistantMessage');

  expect(spansOf(tokenizer, example).filter(([, weight]) => weight === 1)).toEqual([[said, 1]]);
});

const SHORT_REPLIES = `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}`;

test.each(['7', 'yes', 'seven77', 'eight888', 'a longer reply'])(
  'trains nothing behind the stop token of a reply without the block that its prompt opens: %s (MiniMax)',
  (content) => {
    const reply = { role: 'assistant', content };
    const turns = [{ role: 'user', content: 'a' }, reply, { role: 'user', content: 'c' }, reply];
    const example = rendererOf(SHORT_REPLIES).buildSupervisedExample(turns, 'allAssistantMessages');

    const trained = spansOf(tokenizer, example).filter(([, weight]) => weight === 1);
    expect(trained).toEqual([
      [`${content}<|im_end|>`, 1],
      [`${content}<|im_end|>`, 1],
    ]);
  },
);

const ENDLESS = `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;

test('trains what begins the next message as the end of a reply, where a template writes no other (GLM)', () => {
  const renderer = rendererOf(ENDLESS);
  const example = renderer.buildSupervisedExample(conversation.slice(1), 'allAssistantMessages');

  expect(spansOf(tokenizer, example)).toEqual([
    ['<|im_start|>user\na<|im_start|>assistant\n', 0],
    ['b<|im_start|>', 1],
    ['user\nc<|im_start|>assistant\n', 0],
    ['d<|im_start|>', 1],
  ]);
  expect(renderer.stopSequences()).toEqual([
    ...tokenizer.encode('<|im_start|>', { allowSpecial: true }),
    tokenizer.eosTokenId,
  ]);
  expect(tokenizer.decode(renderer.buildSupervisedExample(conversation.slice(1), 'allTokens').tokens)).toBe(
    '<|im_start|>user\na<|im_start|>assistant\nb<|im_start|>user\nc<|im_start|>assistant\nd',
  );
});
