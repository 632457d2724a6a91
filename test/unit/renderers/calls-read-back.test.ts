import fc from 'fast-check';
import type { ToolDeclaration } from '../../../src/core/completion';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

const tokenizer = new CharacterTokenizer();

/** Renderers that write calls of any arguments. */
const WITH_CALLS = RENDERER_NAMES.filter(
  (name) => !['role_colon', 'llama3', 'chat_template', 'everstep'].includes(name),
);

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
const xmlMarks = fc.constantFrom('see </tool_call> here', '<tool_call>{}</tool_call>');
function argumentsOf(name: string) {
  const inXml = /^(qwen3_[58]|nemotron3)/.test(name);
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
  const renderer = findRenderer(name, tokenizer);
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

test.each(WITH_CALLS)('%s reads back the arguments of a call that it wrote', (name) => {
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

test.each(WITH_CALLS)(
  '%s takes the escapes that lists and objects of arguments were written with',
  (name) => {
    const json = String.raw`{"urls": ["https:\/\/example.org\/"], "deep": {"a\u0026b": "\u003cp\u003e"}}`;

    const [call] = readBack(name, json, []).message.toolCalls ?? [];

    expect(JSON.parse(call?.arguments ?? '')).toEqual(JSON.parse(json));
  },
);
