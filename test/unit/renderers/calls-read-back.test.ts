import fc from 'fast-check';
import type { ToolDeclaration } from '../../../src/core/completion';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import type { Renderer } from '../../../src/renderers/renderer';
import { CharacterTokenizer } from './character-tokenizer';

const tokenizer = new CharacterTokenizer();

/** As chat templates write calls whose values stand bare, and open reasoning. */
function bareTemplate(calls: string, wordsOf: (reasoning: string) => string): string {
  return `{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for message in messages %}{{ '<|' + message.role + '|>' }}{% if message.role == 'assistant' %}${wordsOf("(message.reasoning_content or '')")}{% endif %}{{ message.content }}{% if message.tool_calls %}${calls}{% endif %}{{ '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|><think>' }}{% endif %}`;
}
const BARE = '{{ v | tojson(ensure_ascii=False) if v is not string else v }}';
const MINIMAX = bareTemplate(
  `{{ '\\n<minimax:tool_call>\\n' }}{% for call in message.tool_calls %}{{ '<invoke name="' + call.function.name + '">\\n' }}{% for k, v in call.function.arguments.items() %}{{ '<parameter name="' + k + '">' }}${BARE}{{ '</parameter>\\n' }}{% endfor %}{{ '</invoke>\\n' }}{% endfor %}{{ '</minimax:tool_call>' }}`,
  (reasoning) => `{% if ${reasoning} %}{{ '<think>' + ${reasoning} + '</think>\\n\\n' }}{% endif %}`,
);
const GLM = bareTemplate(
  `{% for call in message.tool_calls %}{{ '<tool_call>' + call.function.name }}{% for k, v in call.function.arguments.items() %}<arg_key>{{ k }}</arg_key><arg_value>${BARE}</arg_value>{% endfor %}{{ '</tool_call>' }}{% endfor %}`,
  (reasoning) =>
    `{% if ${reasoning} %}{{ '<think>' + ${reasoning} + '</think>' }}{% else %}{{ '</think>' }}{% endif %}`,
);
const TEMPLATES: ReadonlyMap<string, string> = new Map([
  ['chat_template (MiniMax)', MINIMAX],
  ['chat_template (GLM)', GLM],
]);

function rendererOf(name: string): Renderer {
  const chatTemplate = TEMPLATES.get(name);
  if (chatTemplate === undefined) return findRenderer(name, tokenizer);
  const model = { chatTemplate, source: 'org/model', longestToken: null };
  return findRenderer('chat_template', Object.assign(new CharacterTokenizer(), model));
}

/** Renderers that write calls of any arguments. */
const WITH_CALLS = RENDERER_NAMES.filter(
  (name) => !['role_colon', 'llama3', 'chat_template', 'everstep'].includes(name),
);

const EVERY_FORM = [...WITH_CALLS, ...TEMPLATES.keys()];

/** Words that are marks elsewhere in a reply, as code and documents about models have them. */
const marks = fc.constantFrom(
  '<think>a</think>',
  '</think>',
  'a</parameter>b',
  '<parameter=x>',
  'if a </function> b',
  '<html>&amp;</html>',
);
/** In JSON calls the first closing mark ends a call, as in the reference. */
const xmlMarks = fc.constantFrom(
  'see </tool_call> here',
  '<tool_call>{}</tool_call>',
  '<tool_call>f',
  'see </minimax:tool_call> here',
  '<minimax:tool_call>f</minimax:tool_call>',
  'a</invoke>b',
  '<parameter name="x">',
  'a</arg_value>b',
  '<arg_key>x</arg_key>',
);
function argumentsOf(name: string) {
  const inXml = /^(qwen3_[58]|nemotron3|chat_template)/.test(name);
  const word = fc.oneof(fc.string({ maxLength: 12 }), marks, ...(inXml ? [xmlMarks] : []));
  const scalar = fc.oneof(
    word,
    fc.constantFrom('True', 'None', 'null', '2024', '1.0', '{"a": 1}', '"quoted"', '\n  x\n', ''),
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const value = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(word, scalar, { maxKeys: 3 }),
  );
  return fc.dictionary(fc.stringMatching(/^[a-z_]{1,6}$/), value, { maxKeys: 4 });
}

function typeOf(one: unknown): string {
  if (one === null) return 'null';
  return Array.isArray(one) ? 'array' : typeof one;
}

function toolFor(values: Readonly<Record<string, unknown>>): ToolDeclaration {
  const properties = Object.fromEntries(
    Object.entries(values).map(([name, one]) => [name, { type: typeOf(one) }]),
  );
  return { name: 'f', description: 'd', parameters: { type: 'object', properties } };
}

function readBack(name: string, json: string, tools: readonly ToolDeclaration[]) {
  const renderer = rendererOf(name);
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: '', toolCalls: [{ name: 'f', arguments: json }] },
  ];
  const { tokens, weights } = renderer.buildSupervisedExample(
    conversationWithTools(renderer, messages, tools),
    'lastAssistantMessage',
  );
  return renderer.parseCompletion(
    tokens.filter((_, index) => weights[index] === 1),
    tools,
  );
}

test.each(EVERY_FORM)('%s reads back the arguments of a call that it wrote', (name) => {
  fc.assert(
    fc.property(argumentsOf(name), (values) => {
      const reply = readBack(name, JSON.stringify(values), [toolFor(values)]);

      const [call] = reply.message.toolCalls ?? [];
      expect(reply.unparsedToolCalls).toBeUndefined();
      expect(JSON.parse(call?.arguments ?? '')).toEqual(JSON.parse(JSON.stringify(values)));
    }),
    { numRuns: 60 },
  );
});

test.each(WITH_CALLS)('%s keeps the spelling of numbers and the order of keys', (name) => {
  const json = '{"id": 9007199254740993, "ratio": 2.0, "eps": 1e-05, "far": 1e999, "0": "z", "a": 1}';
  const [call] = readBack(name, json, [toolFor({ 0: 'z' })]).message.toolCalls ?? [];

  expect(call?.arguments).toBe(json);
});

const hidden: ToolDeclaration = {
  name: 'f',
  description: '',
  parameters: {
    type: 'object',
    properties: {
      flag: { type: 'boolean' },
      year: { type: 'string' },
      maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      size: { enum: ['1', 'large'] },
    },
  },
};

test.each([
  ['flag', 'True', true],
  ['flag', 'FALSE', false],
  ['flag', 'perhaps', 'perhaps'],
  ['year', '2024', '2024'],
  ['year', 'None', 'None'],
  ['year', '"x"', '"x"'],
  ['maybe', 'None', null],
  ['maybe', '7', 7],
  ['maybe', '7.5', '7.5'],
  ['size', '1', '1'],
  ['undeclared', 'True', true],
  ['undeclared', '12', 12],
  ['undeclared', 'words', 'words'],
] as const)('reads the parameter %s, written %s, by the declared types', (key, text, expected) => {
  const call = `<tool_call>\n<function=f>\n<parameter=${key}>\n${text}\n</parameter>\n</function>\n</tool_call>`;
  for (const name of ['qwen3_5', 'qwen3_8_low_reasoning', 'nemotron3']) {
    const reply = findRenderer(name, tokenizer).parseCompletion(
      tokenizer.encode(`${call}<|im_end|>`, { allowSpecial: true }),
      [hidden],
    );

    expect(JSON.parse(reply.message.toolCalls?.[0]?.arguments ?? '')).toEqual({ [key]: expected });
  }
});

test('an empty block before a call is no reasoning, however it is written', () => {
  const call = '<tool_call>\n<function=f>\n</function>\n</tool_call>';
  for (const name of ['qwen3_5', 'nemotron3', 'nemotron3_ultra_disable_thinking']) {
    const reply = findRenderer(name, tokenizer).parseCompletion(
      tokenizer.encode(`<think></think>${call}<|im_end|>`, { allowSpecial: true }),
    );

    expect(reply.message).toEqual({
      role: 'assistant',
      content: [],
      toolCalls: [{ name: 'f', arguments: '{}' }],
    });
  }
});

test.each(EVERY_FORM)(
  '%s takes the escapes that lists and objects of arguments were written with',
  (name) => {
    const json = String.raw`{"urls": ["https:\/\/example.org\/"], "deep": {"a\u0026b": "\u003cp\u003e"}}`;

    const [call] = readBack(name, json, []).message.toolCalls ?? [];

    expect(JSON.parse(call?.arguments ?? '')).toEqual(JSON.parse(json));
  },
);

const BARE_FORMS = [
  [
    'chat_template (MiniMax)',
    '\n<minimax:tool_call>\n<invoke name="f">\n<parameter name="flag">True</parameter>\n<parameter name="year">2024</parameter>\n</invoke>\n<invoke name="g">\n</invoke>\n</minimax:tool_call>',
    '<minimax:tool_call>\n<invoke name="f">junk</invoke>\n</minimax:tool_call>',
    '<minimax:tool_call>\n<invoke name="f">',
  ],
  [
    'chat_template (GLM)',
    '<tool_call>f\n<arg_key>flag</arg_key>\n<arg_value>True</arg_value>\n<arg_key>year</arg_key><arg_value>2024</arg_value></tool_call><tool_call>g</tool_call>',
    '<tool_call>f<arg_key>flag</arg_key>True</tool_call>',
    '<tool_call>f<arg_key>flag</arg_key>',
  ],
] as const;

test.each(BARE_FORMS)('%s reads several calls, and says why one is none', (name, calls, junk, unfinished) => {
  const parse = (text: string) =>
    rendererOf(name).parseCompletion(tokenizer.encode(`${text}<|end|>`, { allowSpecial: true }), [hidden]);

  expect(parse(`why</think>\n\nwords${calls}`).message).toEqual({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'why' },
      { type: 'text', text: 'words' },
    ],
    toolCalls: [
      { name: 'f', arguments: '{"flag": true, "year": "2024"}' },
      { name: 'g', arguments: '{}' },
    ],
  });
  expect(parse(junk).unparsedToolCalls).toEqual([
    { rawText: junk, reason: 'Unexpected text between the parameters of the tool call' },
  ]);
  expect(parse(unfinished).unparsedToolCalls).toMatchObject([{ rawText: unfinished }]);
  expect(parse('only words').message.content).toBe('only words');
});
