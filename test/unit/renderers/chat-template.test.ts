import type { Message } from '../../../src/core/conversation';
import { findRenderer } from '../../../src/renderers/find-renderer';
import type { ChatTokenizer } from '../../../src/renderers/tokenizers/hugging-face-tokenizer';
import { CharacterTokenizer, spansOf } from './character-tokenizer';

const CHATML = `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;
const FORGETFUL = `{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}{% if message.reasoning_content and loop.last %}{{ '<think>' + message.reasoning_content + '</think>' }}{% endif %}{{ message.content + '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;
const STRICT = `{{ bos_token }}{% for message in messages %}{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}{% if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}{% else %}{{ ' ' + message.content + eos_token }}{% endif %}{% endfor %}`;

function withTemplate(chatTemplate: string | null): ChatTokenizer {
  return Object.assign(new CharacterTokenizer(), { chatTemplate, source: 'org/model' });
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
