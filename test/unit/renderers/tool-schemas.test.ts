import { parseJsonWithSource } from '../../../src/core/json-source';
import { readTools } from '../../../src/datasets/tools';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

/** What declarations of tools become, number for number and key for key. */

const tokenizer = new CharacterTokenizer();
const WITH_TOOLS = RENDERER_NAMES.filter((name) => !['role_colon', 'llama3', 'chat_template'].includes(name));

function promptOf(name: string, tools: string): string {
  const declared = readTools(parseJsonWithSource(tools), 'tools');
  const renderer = findRenderer(name, tokenizer);
  const messages = conversationWithTools(renderer, [{ role: 'user', content: 'q' }], declared);
  return tokenizer.decode(renderer.buildGenerationPrompt(messages));
}

const PROPERTIES =
  '{"k":{"default":2.0},"b":{"default":12345678901234567890123},"e":{"default":1e-05},"10":{"type":"string"},"2":{"type":"string"}}';
const tool = (schema: string, others = '') =>
  `[{"name":"lookup","description":"d","parameters":${schema}${others}}]`;
const NUMBERS = tool(`{"type":"object","properties":${PROPERTIES}}`);

test('gpt-oss declares parameters in their order, defaults as they are spelled', () => {
  expect(promptOf('gpt_oss_low_reasoning', NUMBERS)).toContain(
    'k?: any, // default: 2.0,\nb?: any, // default: 12345678901234567890123,\ne?: any, // default: 1e-05,\n10?: string,\n2?: string,\n',
  );
});

test('gpt-oss writes the items of an enumeration as Python does', () => {
  const schema = '{"properties":{"a":{"type":"string","enum":["x",2.0,true,null,"y"]}}}';

  expect(promptOf('gpt_oss_low_reasoning', tool(schema))).toContain(
    'a?: "x" | "2.0" | "True" | "None" | "y",',
  );
});

test.each(['kimi_k25', 'nemotron3', 'kimi_k2', 'qwen3', 'qwen3_5', 'deepseekv3'])(
  '%s writes every number as it is spelled',
  (name) => {
    for (const number of ['2.0', '12345678901234567890123', '1e-05'])
      expect(promptOf(name, NUMBERS)).toContain(number);
  },
);

test('everstep and Kimi spell the items of an enumeration as they are', () => {
  const schema = '{"properties":{"a":{"type":"string","enum":["x",2.0]}}}';

  expect(promptOf('everstep', tool(schema))).toContain('a?: "x" | 2.0');
  expect(promptOf('kimi_k25', tool(schema))).toContain('a?: "x" | 2.0');
});

test.each([
  ['qwen3', '"properties": {"k": {"default": 2.0}, "b"'],
  ['deepseekv3', '"10": {"type": "string"}, "2": {"type": "string"}'],
  ['nemotron3', '<name>10</name>\n<type>string</type>\n</parameter>\n<parameter>\n<name>2</name>'],
  ['everstep', 'e?: any, 10?: string, 2?: string'],
  ['kimi_k2', '"10":{"type":"string"},"2":{"type":"string"},"b"'],
])('%s keeps the order of parameters', (name, written) => {
  expect(promptOf(name, NUMBERS)).toContain(written);
});

describe('other spellings of parameters', () => {
  const schema = '{"type":"object","properties":{"zeta":{"type":"string"}},"required":["zeta"]}';
  const openAi = `[{"type":"function","function":{"name":"lookup","description":"d","parameters":${schema}}}]`;

  test.each(WITH_TOOLS)('%s reads those of Anthropic and MCP', (name) => {
    const expected = promptOf(name, openAi);

    expect(expected).toContain('zeta');
    for (const key of ['parameters', 'input_schema', 'inputSchema']) {
      expect(promptOf(name, `[{"name":"lookup","description":"d","${key}":${schema}}]`)).toBe(expected);
      expect(promptOf(name, `[{"type":"custom","name":"lookup","description":"d","${key}":${schema}}]`)).toBe(
        expected,
      );
    }
  });

  test('two at once are refused', () => {
    expect(() => promptOf('qwen3', tool(schema, `,"input_schema":${schema}`))).toThrow(
      'fields "tools[0].parameters" and "tools[0].input_schema" both declare parameters.',
    );
  });

  test('so is what stands beside a function and is no part of it', () => {
    expect(() =>
      promptOf('qwen3', openAi.replace('"type":"function"', '"type":"function","returns":"x"')),
    ).toThrow('field "tools[0]": returns beside "function" is not part of the tool.');
  });
});

describe('other keys of a tool', () => {
  const others = ',"strict":true,"returns":{"type":"string"}';
  const whole = WITH_TOOLS.filter((name) => /^(qwen3|kimi_k2$)/.test(name));

  test.each(whole)('%s writes them', (name) => {
    expect(promptOf(name, tool('{}', others)).replaceAll(' ', '')).toContain('"returns":{"type":"string"}');
  });

  test.each(WITH_TOOLS.filter((name) => !whole.includes(name)))('%s refuses them, but for strict', (name) => {
    expect(() => promptOf(name, tool('{}', others))).toThrow(
      `Tool "lookup": renderer "${name}" does not write "returns".`,
    );
    expect(() => promptOf(name, tool('{}', ',"strict":true'))).not.toThrow();
  });
});

test.each([
  ['qwen3', '{"type": "function", "function": {"name": "now"}}'],
  ['qwen3_5', '{"type": "function", "function": {"name": "now"}}'],
  ['kimi_k2', '{"function":{"name":"now"},"type":"function"}'],
  ['nemotron3', '<name>now</name>\n<parameters>\n</parameters>'],
  ['kimi_k25', '{\ntype now = (_: {}) => any;'],
  ['deepseekv3', '### now\nDescription: \n\nParameters: {"type": "object", "properties": {}}'],
  ['gpt_oss_low_reasoning', '// \ntype now = () => any;'],
  ['everstep', 'now{}'],
])(
  '%s adds neither words nor a schema to a tool that is a name, but where its format has one',
  (name, written) => {
    for (const rest of ['', ',"description":null,"parameters":null'])
      expect(promptOf(name, `[{"name":"now"${rest}}]`)).toContain(written);
  },
);

test("nemotron3 declares every member as the model's own template does", () => {
  const schema = String.raw`{"type":"object","properties":{
    "a":{"type":["string","null"],"enum":["x",true,null,1.0],"default":"x"},
    "b":{"type":null,"description":5,"enum":"x","const":null,"nullable":true,"maximum":1e5},
    "c":{"items":{"type":["integer","null"]},"default":[1.50,"it's",false,{"k":[null]}]}
  },"required":null,"additionalProperties":false,"$defs":{"T":{"type":["string"]}}}`;

  // As transformers 5 writes it with the template of Nemotron 3 Nano.
  expect(promptOf('nemotron3', tool(schema))).toContain(
    [
      '<parameters>',
      ...['<parameter>', '<name>a</name>', "<type>['string', 'null']</type>"],
      ...['<enum>["x", true, null, 1.0]</enum>', '<default>x</default>', '</parameter>'],
      ...['<parameter>', '<name>b</name>', '<type>None</type>', '<description>5</description>'],
      ...['<enum>"x"</enum>', '<const>None</const>', '<nullable>True</nullable>'],
      ...['<maximum>100000.0</maximum>', '</parameter>'],
      ...['<parameter>', '<name>c</name>', '<items>{"type": ["integer", "null"]}</items>'],
      ...[`<default>[1.5, "it's", false, {"k": [null]}]</default>`, '</parameter>'],
      ...['<additionalProperties>False</additionalProperties>', '<$defs>{"T": {"type": ["string"]}}</$defs>'],
      ...['<required>null</required>', '</parameters>'],
    ].join('\n'),
  );
});

test.each(WITH_TOOLS)('%s declares tools as deep as they are taken', (name) => {
  const schema = `${'{"type":"object","properties":{"a":'.repeat(48)}{"type":"string"}${'}}'.repeat(48)}`;

  expect(promptOf(name, tool(schema))).toContain('lookup');
});
