import type { Message } from '../../../src/core/conversation';
import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

const CHATML =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}' +
  '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';
const NO_CRITIC = CHATML.replace('{% for m in messages %}', "{% for m in messages if m.role != 'critic' %}");

function rendererOf(name: string, chatTemplate = CHATML) {
  const tokenizer = new CharacterTokenizer();
  return findRenderer(name, Object.assign(tokenizer, { chatTemplate, source: 'model', longestToken: null }));
}

const train = (name: string, messages: Message[], template?: string) => () =>
  rendererOf(name, template).buildSupervisedExample(messages, 'allAssistantMessages');
const prompt = (name: string, messages: Message[], template?: string) => () =>
  rendererOf(name, template).buildGenerationPrompt(messages);

const call = { id: 'functions.weather:0', name: 'weather', arguments: '{"city": "Oslo"}' };
const calling: Message[] = [
  { role: 'user', content: 'weather in Oslo?' },
  { role: 'assistant', content: 'I ask for the weather in Oslo.', toolCalls: [call] },
  { role: 'tool', content: '4 degrees', toolCallId: 'functions.weather:0' },
  { role: 'assistant', content: 'It is 4 degrees.' },
];

test.each(['llama3', 'role_colon', 'chat_template'])(
  '%s refuses a call it does not write, also where its words occur elsewhere',
  (name) => {
    const problem = `messages[1]: renderer "${name}" does not write the call of tool "weather".`;

    expect(train(name, calling)).toThrow(problem);
    expect(prompt(name, calling.slice(0, 3))).toThrow(problem);
  },
);

test.each(RENDERER_NAMES.filter((name) => !['llama3', 'role_colon', 'chat_template'].includes(name)))(
  '%s writes the call, its argument and every word',
  (name) => {
    expect(train(name, calling)).not.toThrow();
    expect(prompt(name, calling.slice(0, 3))).not.toThrow();
  },
);

test('Kimi writes a call by its id, whether or not that names the tool', () => {
  const messages = calling.slice(0, 2).map((message) => ({
    ...message,
    ...(message.toolCalls && { toolCalls: [{ ...call, id: 'c1' }] }),
  }));

  expect(train('kimi_k2', messages)).not.toThrow();
  expect(train('llama3', messages)).toThrow('does not write the call of tool "weather"');
});

describe('the name of who speaks', () => {
  const named: Message[] = [
    { role: 'user', name: 'Ann', content: 'It is Ann who asks.' },
    { role: 'assistant', content: 'b' },
  ];
  const withNames = CHATML.replace('{{ m.role }}', "{{ m.role }}{{ ' ' + m.name if m.name else '' }}");

  test.each(RENDERER_NAMES)('%s refuses one that it does not write', (name) => {
    const problem = `messages[0]: renderer "${name}" does not write the name "Ann"`;

    expect(train(name, named)).toThrow(problem);
    expect(prompt(name, named.slice(0, 1))).toThrow(problem);
  });

  test('a template that writes it is taken', () => {
    expect(train('chat_template', named, withNames)).not.toThrow();
    expect(prompt('chat_template', named.slice(0, 1), withNames)).not.toThrow();
  });
});

test('a template that leaves out a role is refused', () => {
  const messages: Message[] = [
    { role: 'user', content: 'a' },
    { role: 'critic', content: 'Think again.' },
    { role: 'assistant', content: 'b' },
  ];

  expect(train('chat_template', messages)).not.toThrow();
  expect(train('chat_template', messages, NO_CRITIC)).toThrow(
    'messages[1]: renderer "chat_template" does not write the words of role "critic".',
  );
  expect(prompt('chat_template', messages.slice(0, 2), NO_CRITIC)).toThrow('role "critic"');
});

test('a template that leaves out an argument is refused', () => {
  const template = CHATML.replace(
    '<|im_end|>',
    '{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments.keys() | list }}{% endfor %}<|im_end|>',
  );

  expect(train('chat_template', calling, template)).toThrow(
    'does not write "Oslo" in the call of tool "weather"',
  );
});

const reasoned = (thinking: string, text: string): Message => ({
  role: 'assistant',
  content: [
    { type: 'thinking', thinking },
    { type: 'text', text },
  ],
});

test.each(['chat_template', 'deepseekv3'])(
  '%s refuses reasoning of the reply that it does not write',
  (name) => {
    const messages = [{ role: 'user', content: '6*7?' }, reasoned('six sevens', '42')];

    expect(train(name, messages)).toThrow(`messages[1]: renderer "${name}" does not write its reasoning.`);
  },
);

test('reasoning may be dropped from history', () => {
  const messages = [
    { role: 'user', content: '6*7?' },
    reasoned('six sevens', '42'),
    { role: 'user', content: '6*8?' },
    reasoned('six eights', '48'),
  ];

  expect(train('qwen3', messages)).not.toThrow();
});

test('words may be spelled as JSON, be trimmed, and a system prompt may stand elsewhere', () => {
  const template =
    "{% for m in messages if m.role != 'system' %}<|im_start|>{{ m.role }}\n{{ m.content | tojson }}<|im_end|>\n{% endfor %}" +
    "{% for m in messages if m.role == 'system' %}<|im_start|>system\n{{ m.content | trim }}<|im_end|>\n{% endfor %}";
  const messages: Message[] = [
    { role: 'system', content: '  Be brief.\n' },
    { role: 'user', content: 'say "hi"\nplease' },
    { role: 'assistant', content: 'hi' },
  ];

  expect(() =>
    rendererOf('chat_template', template).buildSupervisedExample(messages, 'allTokens'),
  ).not.toThrow();
});
