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

test.each(['1e999', '-1E400', '0.12345678901234567890'])(
  'a template that writes %s as another number is refused',
  (number) => {
    const writing = CHATML.replace(
      '<|im_end|>',
      '{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}<|im_end|>',
    );
    const withNumber = (text: string): Message[] => [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: '', toolCalls: [{ name: 'f', arguments: `{"a": ${text}}` }] },
    ];

    expect(train('chat_template', withNumber('0.10'), writing)).not.toThrow();
    expect(train('chat_template', withNumber(number), writing)).toThrow(
      `does not write the number ${number} in the call of tool "f" as it stands.`,
    );
    expect(train('qwen3', withNumber(number))).not.toThrow();
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

const SPLIT_LAST =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1] | trim }}<|im_end|>\n{% endfor %}" +
  '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';
const REASONS_LAST = SPLIT_LAST.replace(
  '{{ m.content.split',
  "{% if '</think>' in m.content %}<think>\n{{ m.content.split('</think>')[0].split('<think>')[-1] }}\n</think>\n\n{% endif %}{{ m.content.split",
);
const BLOCKS = ['one <think>', 'x', '</think> two <think>', 'y', '</think> three'].join('why');

describe('words of a reply around its reasoning', () => {
  const replying = (content: string): Message[] => [
    { role: 'user', content: 'q' },
    { role: 'assistant', content },
  ];

  test.each([
    ['Let me answer first. <think>hidden</think> The end.', '"Let me answer first." in the words of role'],
    [BLOCKS, 'does not write'],
    ['<think>hidden</think> Stray words.</think> The end.', 'Stray words.'],
  ])('a template that leaves out some of %j is refused', (content, problem) => {
    expect(train('chat_template', replying(content), REASONS_LAST)).toThrow(problem);
  });

  test.each([
    'assistant\n<think>why</think>after',
    'think<think>why</think>after',
    '<think>why</think>assistant<think>then</think>after',
  ])('a template that leaves out words of %j which its layout has too is refused', (content) => {
    const problem = /"(assistant|think)" in the words of role "assistant"/;

    expect(train('chat_template', replying(content), REASONS_LAST)).toThrow(problem);
    expect(train('chat_template', replying(content))).not.toThrow();
  });

  test('a template that writes all of a reply is taken, also where its words stand in its reasoning', () => {
    for (const content of ['Zebra quokka.</think>rest words', '<think>so 42, or 42</think>42'])
      expect(train('chat_template', replying(content), REASONS_LAST)).not.toThrow();
  });

  test('a template that drops the words of an earlier turn with its reasoning is refused', () => {
    const messages = [...replying('Words. <think>x</think> End.'), ...replying('a')];

    expect(train('chat_template', messages, SPLIT_LAST)).toThrow('messages[1]');
  });

  test.each(RENDERER_NAMES.filter((name) => name !== 'chat_template'))(
    '%s writes all the words, or says which not',
    (name) => {
      for (const content of ['Let me answer first. <think>hidden</think> The end.', BLOCKS]) {
        for (const messages of [replying(content), [...replying(content), ...replying('a')]]) {
          const written = textOrRefusal(name, messages);
          for (const words of content.split(/<\/?think>/).filter((_, index) => index % 2 === 0))
            expect(written).toContain(words.trim());
        }
      }
    },
  );
});

describe('a block that earlier words speak of', () => {
  const spoken: Message[] = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'Wrap it in `<think>steps</think>` tags.' },
    { role: 'user', content: 'r' },
    { role: 'assistant', content: 'a' },
  ];
  const droppers = RENDERER_NAMES.filter((name) =>
    /^(qwen3(_5)?(_disable_thinking)?|deepseekv3.*|nemotron3)$/.test(name),
  );

  test.each(droppers)('%s does not train what is left of the sentence', (name) => {
    expect(train(name, spoken)).toThrow(/messages\[1\]: renderer ".*" does not write "/);
    expect(() => rendererOf(name).buildSupervisedExample(spoken, 'lastAssistantMessage')).not.toThrow(
      /steps/,
    );
  });

  test('a template that drops it does not either', () => {
    const drops = CHATML.replace(
      'm.content | trim',
      "m.content.split('<think>')[0] + m.content.split('</think>')[-1]",
    );

    expect(train('chat_template', spoken, drops)).toThrow('messages[1]');
    expect(train('chat_template', spoken)).not.toThrow();
  });

  test('reasoning before the words may be dropped', () => {
    const messages = spoken.map((message, index) =>
      index === 1 ? { ...message, content: '<think>steps</think>Done.' } : message,
    );

    expect(train('qwen3', messages)).not.toThrow();
    expect(train('deepseekv3', messages)).not.toThrow();
  });
});

test.each(RENDERER_NAMES)('%s refuses reasoning of others than replies', (name) => {
  for (const role of ['system', 'user']) {
    const messages = [
      { ...reasoned('six', '6*7?'), role },
      { role: 'assistant', content: 'b' },
    ];

    expect(train(name, messages)).toThrow(/reasons|reasoning|of type "thinking"/);
    expect(prompt(name, messages.slice(0, 1))).toThrow(/reasons|reasoning|of type "thinking"/);
  }
});

test.each(['qwen3', 'qwen3_5'])('%s writes the empty block before a block that never ends', (name) => {
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: '<think>unclosed' },
  ];
  const { tokens } = rendererOf(name).buildSupervisedExample(messages, 'allAssistantMessages');

  expect(new CharacterTokenizer().decode(tokens)).toContain(
    'assistant\n<think>\n\n</think>\n\n<think>unclosed<|im_end|>',
  );
});

/** What is trained on; where the row is refused by name, all of it, so that nothing is missing. */
function textOrRefusal(name: string, messages: Message[]): string {
  const tokenizer = new CharacterTokenizer();
  try {
    const { tokens } = findRenderer(name, tokenizer).buildSupervisedExample(messages, 'lastAssistantMessage');
    return tokenizer.decode(tokens);
  } catch (error) {
    expect(String(error)).toMatch(/messages\[\d\](: renderer ".*" does not write| reasons)/);
    return JSON.stringify(messages);
  }
}
