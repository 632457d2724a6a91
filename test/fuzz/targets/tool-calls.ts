import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer, WORD_TOKENS } from '../../unit/renderers/character-tokenizer';
import type { FuzzTarget } from '../target';
import { textOf } from '../target';

const tokenizer = new CharacterTokenizer();
const renderers = RENDERER_NAMES.filter((name) => name !== 'chat_template').map((name) =>
  findRenderer(name, tokenizer),
);
const TOOLS = [
  {
    name: 'f',
    description: 'd',
    parameters: {
      type: 'object',
      properties: { a: { type: 'string' }, n: { type: ['integer', 'null'] }, l: { type: 'array' } },
    },
  },
];

/** What a model wrote, as every renderer reads it: never an error. */
export const target: FuzzTarget = {
  name: 'tool-calls',
  seeds: () => [
    '<think>\nso\n</think>\n\nText<tool_call>\n{"name": "f", "arguments": {"a": "x", "n": 1}}\n</tool_call><|im_end|>',
    '<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>',
    '<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":"x"}<|call|>',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_calls_section_end|>',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a":"x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  words: [
    ...WORD_TOKENS,
    '<tool_call>',
    '</tool_call>',
    '<function=',
    '<parameter=',
    '</think>',
    '{"name":',
    'to=functions.',
  ],
  isRefusal: () => false,
  run(bytes) {
    const tokens = tokenizer.encode(textOf(bytes));
    for (const renderer of renderers) {
      renderer.parseCompletion(tokens);
      renderer.parseCompletion(tokens, TOOLS);
    }
  },
};
