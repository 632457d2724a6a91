import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Message, TrainOnWhat } from '../../../src/core/conversation';
import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer, WORD_TOKENS } from './character-tokenizer';

const tokenizer = new CharacterTokenizer();
const isWordToken = (token: number) => tokenizer.decode([token]).length > 2;
const names = RENDERER_NAMES.filter((name) => name !== 'chat_template');
const withTools = names.filter((name) => !['role_colon', 'llama3'].includes(name));
const knowsReasoning = withTools.filter(
  (name) => !name.includes('disable') && !['deepseekv3', 'everstep'].includes(name),
);

const reasoned = (thinking: string, text: string): Message => ({
  role: 'assistant',
  content: [
    { type: 'thinking', thinking },
    { type: 'text', text },
  ],
});
const plain: Message[] = [
  { role: 'system', content: 'S' },
  { role: 'user', content: 'a' },
  { role: 'assistant', content: 'b' },
  { role: 'user', content: 'c' },
  { role: 'assistant', content: 'd' },
];
const calling: Message = {
  role: 'assistant',
  content: 'Looking.',
  toolCalls: [
    { name: 'get_weather', arguments: '{"city": "Paris", "days": 2}' },
    { name: 'get_time', arguments: '{"zone": "CET"}' },
  ],
};

/** What the model said: the tokens of an example after its prompt. */
function sampledPart(name: string, messages: Message[]): { prompt: number[]; reply: number[] } {
  const renderer = findRenderer(name, tokenizer);
  const prompt = renderer.buildGenerationPrompt(messages.slice(0, -1));
  const { tokens, weights } = renderer.buildSupervisedExample(messages, 'lastAssistantMessage');
  expect(tokens.slice(0, prompt.length)).toEqual(prompt);
  expect(weights).toEqual(tokens.map((_, index) => (index < prompt.length ? 0 : 1)));
  return { prompt, reply: tokens.slice(prompt.length) };
}

const textOf = ({ content }: Message) =>
  typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** Their own template begins a reply without reasoning otherwise than their prompt does. */
const contradictsItself = (name: string) => name.startsWith('nemotron3') && !name.includes('disable');

test.each(names.filter((name) => !contradictsItself(name)))(
  '%s trains exactly what is sampled after its prompt, and reads it back',
  (name) => {
    const { reply } = sampledPart(name, plain);

    const { message, termination } = findRenderer(name, tokenizer).parseCompletion(reply);

    expect(textOf(message)).toBe('d');
    expect(termination).toBe('stop_sequence');
  },
);

test.each(knowsReasoning)('%s reads back reasoning as it was rendered', (name) => {
  const { reply } = sampledPart(name, [...plain.slice(0, -1), reasoned('so\n\n so', 'd')]);

  const { message } = findRenderer(name, tokenizer).parseCompletion(reply);

  expect(message.content).toEqual([
    { type: 'thinking', thinking: 'so\n\n so' },
    { type: 'text', text: 'd' },
  ]);
});

const closesReasoning = names.filter((name) => name.includes('disable') && !name.startsWith('deepseek'));

test.each(
  closesReasoning.flatMap((name) =>
    (
      [
        'lastAssistantMessage',
        'lastAssistantTurn',
        'allAssistantMessages',
        'allMessages',
        'allTokens',
      ] as const
    ).map((mode): [string, TrainOnWhat] => [name, mode]),
  ),
)('%s refuses to train reasoning after a prompt that closes it, in the mode %s', (name, mode) => {
  const build = (reply: Message) => () =>
    findRenderer(name, tokenizer).buildSupervisedExample([...plain.slice(1, 2), reply], mode);

  expect(build(reasoned('because', 'd'))).toThrow('messages[1] reasons');
  expect(build({ role: 'assistant', content: 'd' })).not.toThrow();
});

test.each(withTools)('%s reads back the tool calls it writes', (name) => {
  const renderer = findRenderer(name, tokenizer);
  const messages = [...plain.slice(1, 2), calling];
  const { tokens, weights } = renderer.buildSupervisedExample(messages, 'allAssistantMessages');
  const said = tokens.filter((_, index) => weights[index] === 1);
  // Harmony ends each call of a reply with the token that ends the reply; sampling stops at the first.
  const sampled = name.startsWith('gpt_oss') ? said.slice(0, said.indexOf(said.at(-1) ?? 0) + 1) : said;

  const { message, termination, unparsedToolCalls } = renderer.parseCompletion(sampled);

  const calls = message.toolCalls?.map((call) => ({ name: call.name, arguments: call.arguments }));
  expect(calls).toEqual(name.startsWith('gpt_oss') ? calling.toolCalls?.slice(0, 1) : calling.toolCalls);
  // The template of gpt-oss writes words beside a call as reasoning.
  const read = name.startsWith('gpt_oss') ? thoughtOf(message) : textOf(message);
  expect(read.trim()).toBe('Looking.');
  expect({ termination, unparsedToolCalls }).toEqual({ termination: 'stop_sequence' });
});

test.each(withTools)('%s tells the model of its tools and keeps the system prompt', (name) => {
  const renderer = findRenderer(name, tokenizer);
  const weather = {
    name: 'get_weather',
    description: 'Wetter für einen Ort',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  };

  const prompt = tokenizer.decode(
    renderer.buildGenerationPrompt([
      ...renderer.declareTools([weather], 'Be brief.'),
      { role: 'user', content: 'a' },
    ]),
  );

  expect(prompt).toContain('get_weather');
  // A token a byte: descriptions would fill the context.
  if (name !== 'everstep') expect(prompt).toContain('Wetter für einen Ort');
  expect(prompt).toContain('city');
  expect(prompt).toContain('Be brief.');
});

test.each(['role_colon', 'llama3'])('%s says that it has no tools', (name) => {
  expect(() => findRenderer(name, tokenizer).declareTools([], '')).toThrow(`Renderer "${name}" has no tools`);
});

test.each(names.filter((name) => findRenderer(name, tokenizer).hasExtensionProperty))(
  '%s has the extension property: what was sampled is the beginning of the next prompt',
  (name) => {
    const renderer = findRenderer(name, tokenizer);
    const first = knowsReasoning.includes(name) && name !== 'qwen3_instruct' ? reasoned('so', 'b') : plain[2];
    const turns = [...plain.slice(0, 2), first ?? calling];
    const { prompt, reply } = sampledPart(name, turns);

    const next = renderer.buildGenerationPrompt([...turns, { role: 'user', content: 'c' }]);

    // The stop text of role_colon is the next message's header.
    const kept = name === 'role_colon' ? tokenizer.encode(' b\n\n') : reply;
    expect(next.slice(0, prompt.length + kept.length)).toEqual([...prompt, ...kept]);
  },
);

test.each(['qwen3', 'qwen3_5', 'deepseekv3_thinking', 'kimi_k2', 'kimi_k25', 'nemotron3', 'nemotron3_ultra'])(
  '%s drops the reasoning of earlier turns from its prompts',
  (name) => {
    const messages = [...plain.slice(0, 2), reasoned('secret', 'b'), ...plain.slice(3, 4)];

    const prompt = tokenizer.decode(findRenderer(name, tokenizer).buildGenerationPrompt(messages));

    expect(prompt).not.toContain('secret');
    expect(prompt).toContain('b');
  },
);

test.each(['qwen3', 'qwen3_5', 'deepseekv3', 'deepseekv3_thinking', 'nemotron3', 'nemotron3_ultra'])(
  '%s drops it as well where it stands in a string',
  (name) => {
    const earlier: Message = { role: 'assistant', content: '<think>\nsecret\n</think>\n\nb' };

    const prompt = tokenizer.decode(
      findRenderer(name, tokenizer).buildGenerationPrompt([
        ...plain.slice(0, 2),
        earlier,
        ...plain.slice(3, 4),
      ]),
    );

    expect(prompt).not.toContain('secret');
    expect(prompt).toContain('b');
  },
);

test.each([
  'qwen3_8_medium_reasoning',
  'kimi_k26_preserve_thinking',
  'nemotron3_preserve_thinking',
  'nemotron3_ultra_preserve_thinking',
])('%s keeps the reasoning of earlier turns', (name) => {
  const messages = [...plain.slice(0, 2), reasoned('kept', 'b'), ...plain.slice(3, 4)];

  const prompt = tokenizer.decode(findRenderer(name, tokenizer).buildGenerationPrompt(messages));

  expect(prompt).toContain('kept');
});

test.each([
  'qwen3',
  'qwen3_5',
  'qwen3_8_low_reasoning',
  'kimi_k2',
  'kimi_k25',
  'nemotron3',
  'nemotron3_ultra',
])('%s keeps the reasoning of the turn under way while tools answer', (name) => {
  const call = { ...reasoned('kept', 'x'), toolCalls: [{ name: 'f', arguments: '{}' }] };
  const messages: Message[] = [...plain.slice(1, 4), call, { role: 'tool', content: 't' }];

  const prompt = tokenizer.decode(findRenderer(name, tokenizer).buildGenerationPrompt(messages));

  expect(prompt).toContain('kept');
});

test.each(names)('no words of a user forge a turn of %s', (name) => {
  const renderer = findRenderer(name, tokenizer);
  const tags = ['<think>', '</think>'];
  const wordTokens = (content: string) =>
    renderer
      .buildGenerationPrompt([{ role: 'user', content }])
      .filter(isWordToken)
      .map((token) => tokenizer.decode([token]))
      .filter((token) => !tags.includes(token));

  const honest = wordTokens('x');

  for (const token of WORD_TOKENS.filter((word) => word.length > 2 && !isForeign(name, word))) {
    expect(wordTokens(`x${token}y`)).toEqual(honest);
  }
});

/** Added tokens of another family are words of the test's tokenizer only. */
function isForeign(name: string, word: string): boolean {
  return !name.startsWith('deepseek') && /^<(｜|\/?think)/.test(word) && !/sentence/.test(word);
}

test.each(names)('%s writes marked messages with loss, and what it adds itself without', (name) => {
  const renderer = findRenderer(name, tokenizer);
  const messages: Message[] = [
    { role: 'user', content: 'QQ', trainable: true },
    { role: 'assistant', content: 'RR', trainable: false },
  ];

  const { tokens, weights } = renderer.buildSupervisedExample(messages, 'customized');
  const said = tokenizer.decode(tokens.filter((_, index) => weights[index] === 1));

  expect(said).toContain('QQ');
  expect(said).not.toContain('RR');
  expect(said).not.toMatch(/Kimi|ChatGPT|effort is set/);
});

test.each(names)('%s tells a clean end from a truncated one, whatever was written', (name) => {
  const renderer = findRenderer(name, tokenizer);
  const [stop] = renderer.stopSequences();
  const end = typeof stop === 'string' ? tokenizer.encode(stop) : [stop ?? 0];
  const text = tokenizer.encode('<think>a<tool_call>{"name', { allowSpecial: true });

  expect(renderer.parseCompletion([...text, ...end]).termination).toBe('stop_sequence');
  expect(renderer.parseCompletion(text).termination).toBe('malformed');
  expect(renderer.parseCompletion([...text, ...end, ...end]).termination).toBe('malformed');
  expect(renderer.parseCompletion([]).termination).toBe('malformed');
});

test('the manual lists every renderer with the stops it has', () => {
  const rows = readFileSync(join(__dirname, '../../../docs/renderers.md'), 'utf8').split('\n');
  const listed = rows
    .filter((row) => /^\| `[a-z]/.test(row))
    .map((row) => row.replaceAll('\\|', '¦').split('|'));

  expect(listed.map((cells) => cells[1]?.trim())).toEqual(
    expect.arrayContaining(RENDERER_NAMES.map((name) => `\`${name}\``)),
  );
  for (const name of names.filter((one) => one !== 'role_colon')) {
    const stops = findRenderer(name, tokenizer).stopSequences();
    const row = listed.find((cells) => cells[1]?.trim() === `\`${name}\``);
    const texts = stops.map((stop) => (typeof stop === 'string' ? stop : tokenizer.decode([stop])));
    expect(row?.[5]?.replaceAll('¦', '|').replaceAll('`', '').trim()).toBe(texts.join(', '));
  }
});

test.each(names)('%s reads whatever a model writes', (name) => {
  const renderer = findRenderer(name, tokenizer);
  const fragments = [
    ...WORD_TOKENS,
    '<tool_call>',
    '</tool_call>',
    '<function=f>',
    '</function>',
    '<parameter=a>',
    '</parameter>',
    ' to=functions.f',
    'functions.f:0',
    '{"name": "f", "arguments": {"a": 1}}',
    '{"a": [1,',
    '\n\n',
    'x',
    '',
  ];

  fc.assert(
    fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 12 }), (parts) => {
      const tokens = parts.flatMap((part) => tokenizer.encode(part, { allowSpecial: true }));

      const { message, termination } = renderer.parseCompletion(tokens);

      expect(message.role).toBe('assistant');
      expect(['stop_sequence', 'eos', 'malformed']).toContain(termination);
      for (const call of message.toolCalls ?? []) expect(typeof JSON.parse(call.arguments)).toBe('object');
    }),
    { numRuns: 60 },
  );
});

function thoughtOf({ content }: Message): string {
  if (typeof content === 'string') return '';
  return content.map((part) => (part.type === 'thinking' ? part.thinking : '')).join('');
}
