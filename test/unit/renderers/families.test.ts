import type { Message } from '../../../src/core/conversation';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer, spansOf } from './character-tokenizer';

/** Expectations written from the models' own chat templates, where the reference's vectors have no case. */

const tokenizer = new CharacterTokenizer();
const user = (content: string): Message => ({ role: 'user', content });
const reply = (content: Message['content'], more: Partial<Message> = {}): Message => ({
  role: 'assistant',
  content,
  ...more,
});
const output = (content: string, more: Partial<Message> = {}): Message => ({
  role: 'tool',
  content,
  ...more,
});
const calls = (...names: string[]) => ({ toolCalls: names.map((name) => ({ name, arguments: '{}' })) });
const thought = (thinking: string, text: string): Message['content'] => [
  { type: 'thinking', thinking },
  { type: 'text', text },
];

function promptOf(name: string, messages: Message[]): string {
  return tokenizer.decode(findRenderer(name, tokenizer).buildGenerationPrompt(messages));
}

function exampleOf(name: string, messages: Message[]): [string, number][] {
  const renderer = findRenderer(name, tokenizer);
  return spansOf(tokenizer, renderer.buildSupervisedExample(messages, 'lastAssistantTurn'));
}

function parse(name: string, text: string) {
  return findRenderer(name, tokenizer).parseCompletion(tokenizer.encode(text, { allowSpecial: true }));
}

describe('qwen3', () => {
  test('puts the answers of several tools into one user message', () => {
    const prompt = promptOf('qwen3', [user('q'), reply('', calls('f', 'g')), output('1'), output('2')]);

    expect(prompt).toBe(
      '<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n' +
        '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call><|im_end|>\n' +
        '<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n' +
        '<|im_start|>assistant\n',
    );
  });

  test('keeps the reasoning of a turn while its tools answer, and drops it with the next question', () => {
    const turn = [user('q'), reply(thought('h', 'x'), calls('f')), output('1')];

    expect(promptOf('qwen3', turn)).toContain('<think>\nh\n</think>\n\nx\n<tool_call>');
    expect(promptOf('qwen3', [...turn, reply('done'), user('r')])).toContain('assistant\nx\n<tool_call>');
  });

  test('nothing but the block stands between reasoning and a call', () => {
    const silent = reply([{ type: 'thinking', thinking: 'h' }], calls('f'));
    const written = reply('<think>\nh\n</think>\n\n', calls('f'));

    for (const message of [silent, written]) {
      expect(promptOf('qwen3', [user('q'), message, output('1')])).toContain('</think>\n\n<tool_call>');
    }
  });

  test('an empty block before a call of the turn under way is not written, as in the template', () => {
    const answered = (content: Message['content']) =>
      promptOf('qwen3', [user('q'), reply(content, calls('f')), output('1')]);

    for (const content of ['<think>\n\n</think>\n\nx', thought('', 'x')]) {
      expect(answered(content)).toContain('<|im_start|>assistant\nx\n<tool_call>');
    }
  });

  test('space before a block that a string begins with is not written, as in the template', () => {
    expect(exampleOf('qwen3', [user('q'), reply('\n<think>h</think>x')])).toEqual([
      ['<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n', 0],
      ['<think>\nh\n</think>\n\nx<|im_end|>', 1],
    ]);
  });

  test('reasoning keeps its indentation', () => {
    const { message } = parse('qwen3', '<think>\n\n  a\n    b\n</think>\n\nNo.<|im_end|>');

    expect(message).toEqual(reply(thought('  a\n    b', 'No.')));
  });

  test('a call that is only reasoned about is none', () => {
    const { message, unparsedToolCalls } = parse(
      'qwen3',
      '<think>\nI could use <tool_call>\n</think>\n\nNo.<|im_end|>',
    );

    expect(message).toEqual(reply(thought('I could use <tool_call>', 'No.')));
    expect(unparsedToolCalls).toBeUndefined();
  });
});

describe('qwen3_5', () => {
  test('text and reasoning are trimmed in parts as well', () => {
    const parted = reply([
      { type: 'thinking', thinking: '\n\n h\n' },
      { type: 'text', text: '\n x' },
      { type: 'text', text: 'y \n' },
    ]);
    const question: Message = { role: 'user', content: [{ type: 'text', text: ' q\n' }] };

    for (const name of ['qwen3_5', 'qwen3_8_medium_reasoning']) {
      const whole = exampleOf(name, [question, parted]).map(([text]) => text);

      expect(whole.join('')).toBe(
        '<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<think>\nh\n</think>\n\nxy<|im_end|>',
      );
    }
  });

  test.each([
    ['without line breaks', '<think>h</think>x'],
    ['with spaces', '\n<think> h </think>\nx'],
    ['closed only', 'h</think>x'],
    ['as the template writes it', '<think>\nh\n</think>\n\nx'],
  ])('reasoning within a string is framed as the template frames it: %s', (_, spelling) => {
    expect(exampleOf('qwen3_5', [user('q'), reply(spelling)])).toEqual([
      ['<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<think>\n', 0],
      ['h\n</think>\n\nx<|im_end|>', 1],
    ]);
    expect(promptOf('qwen3_5', [user('q'), reply(spelling), user('r')])).toContain(
      '<|im_start|>assistant\nx<|im_end|>',
    );
  });

  test('nothing but the block of a string stands before its call', () => {
    const call = reply('<think>h</think>', calls('f'));

    expect(promptOf('qwen3_5', [user('q'), call, output('1')])).toContain(
      '<think>\nh\n</think>\n\n<tool_call>\n<function=f>',
    );
  });

  test('declares a tool as OpenAI nests it', () => {
    const [declared] = findRenderer('qwen3_5', tokenizer).declareTools(
      [{ name: 'f', description: 'd', parameters: {} }],
      '',
    );

    expect(declared?.content).toContain(
      '<tools>\n{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}\n</tools>',
    );
  });
});

describe('XML tool calls', () => {
  const values = {
    toolCalls: [
      { name: 'f', arguments: '{"t": true, "n": null, "x": 2.0, "o": {"ä":[1,2]}, "s": " a\\n b"}' },
    ],
  };
  const parameters = (literalTrue: string, literalNull: string) =>
    `<function=f>\n<parameter=t>\n${literalTrue}\n</parameter>\n<parameter=n>\n${literalNull}\n</parameter>\n` +
    '<parameter=x>\n2.0\n</parameter>\n<parameter=o>\n{"ä": [1, 2]}\n</parameter>\n<parameter=s>\n a\n b\n</parameter>\n</function>';

  test.each([
    ['qwen3_5', 'True', 'None'],
    ['nemotron3', 'True', 'None'],
    ['qwen3_8_medium_reasoning', 'true', 'null'],
  ])('%s writes numbers as they came and %s for true', (name, literalTrue, literalNull) => {
    expect(promptOf(name, [user('q'), reply('', values), output('1')])).toContain(
      parameters(literalTrue, literalNull),
    );
  });

  test('keeps indentation and further line breaks of a value', () => {
    const { message } = parse(
      'qwen3_5',
      '<tool_call>\n<function=write>\n<parameter=text>\n  if x:\n\n    y\n\n</parameter>\n<parameter=n>\n2.0\n</parameter>\n</function>\n</tool_call><|im_end|>',
    );

    expect(message.toolCalls).toEqual([
      { name: 'write', arguments: '{"text": "  if x:\\n\\n    y\\n", "n": 2.0}' },
    ]);
  });

  test.each([
    ['<tool_call>\n<function=>\n</function>\n</tool_call>', 'no <function=name>'],
    ['<tool_call>\n<function=f>\nhello\n</function>\n</tool_call>', 'between the parameters'],
    ['<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n', 'Unterminated tool call'],
    ['<tool_call>\n["f"]\n</tool_call>', 'not a JSON object'],
  ])('reports %j and does not throw', (text, reason) => {
    const { unparsedToolCalls, termination } = parse('qwen3_5', `${text}<|im_end|>`);

    expect(termination).toBe('stop_sequence');
    expect(unparsedToolCalls?.map((call) => call.reason)).toEqual([expect.stringContaining(reason)]);
  });

  test('arguments that are no object are refused when they are rendered', () => {
    const broken = reply('', { toolCalls: [{ name: 'f', arguments: '[1' }] });

    expect(() => promptOf('qwen3_5', [user('q'), broken])).toThrow(
      'tool "f" has arguments that are not a JSON object',
    );
  });

  test('several answers share a user message, which Nemotron closes with a line break', () => {
    const messages = [user('q'), reply('', calls('f', 'g')), output('1'), output('2')];

    expect(promptOf('qwen3_5', messages)).toContain(
      '<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n',
    );
    expect(promptOf('nemotron3', messages)).toContain(
      '<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>\n<|im_end|>\n',
    );
  });
});

describe('nemotron3', () => {
  test('declares tools with every field of their schema', () => {
    const [declared] = findRenderer('nemotron3', tokenizer).declareTools(
      [
        {
          name: 'f',
          description: ' Does f. ',
          parameters: {
            type: 'object',
            properties: { a: { type: 'integer', minimum: 1, enum: [1, 2], default: null }, b: {} },
            required: ['a'],
            additionalProperties: false,
          },
        },
      ],
      '',
    );

    expect(declared?.content).toContain(
      '<function>\n<name>f</name>\n<description>Does f.</description>\n<parameters>\n' +
        '<parameter>\n<name>a</name>\n<type>integer</type>\n<enum>[1, 2]</enum>\n<minimum>1</minimum>\n<default>None</default>\n</parameter>\n' +
        '<parameter>\n<name>b</name>\n</parameter>\n' +
        '<additionalProperties>False</additionalProperties>\n<required>["a"]</required>\n</parameters>\n</function>',
    );
  });

  test('notes the effort in the last question only', () => {
    const prompt = promptOf('nemotron3_low_thinking', [user('a'), reply('b'), user(' c ')]);

    expect(prompt).toContain('user\na<|im_end|>');
    expect(prompt).toContain('user\n c \n\n{reasoning effort: low}<|im_end|>');
  });
});

describe('deepseekv3', () => {
  test('ends a reply that only calls tools, and lets the answer follow the output at once', () => {
    const prompt = promptOf('deepseekv3', [user('q'), reply('', calls('f', 'g')), output('1'), output('2')]);

    expect(prompt).toBe(
      '<｜begin▁of▁sentence｜><｜User｜>q<｜Assistant｜></think>' +
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>' +
        '<｜tool▁output▁begin｜>1<｜tool▁output▁end｜><｜tool▁output▁begin｜>2<｜tool▁output▁end｜>',
    );
  });

  test('shows the form of a call in control tokens, though a person who spells them writes letters', () => {
    const renderer = findRenderer('deepseekv3', tokenizer);
    const tools = [{ name: 'f', description: '', parameters: {} }];
    const [sep] = tokenizer.encode('<｜tool▁sep｜>');

    const declared = renderer.buildGenerationPrompt([
      ...renderer.declareTools(tools, 'S<｜tool▁sep｜>'),
      user('q'),
    ]);

    expect(declared.filter((token) => token === sep)).toHaveLength(1);
  });

  test('refuses a later system message and an unknown role', () => {
    const system: Message = { role: 'system', content: 'S' };

    expect(() => promptOf('deepseekv3', [user('q'), system])).toThrow('messages[1] is a system message');
    expect(() => promptOf('deepseekv3', [{ role: 'critic', content: '' }])).toThrow('no role "critic"');
  });

  test('reads names with hyphens and reports what is no call', () => {
    const section = (inner: string) =>
      `x<｜tool▁calls▁begin｜>${inner}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>`;
    const call = (body: string) => `<｜tool▁call▁begin｜>${body}<｜tool▁call▁end｜>`;

    expect(parse('deepseekv3', section(call('get-time<｜tool▁sep｜>{}'))).message).toEqual(
      reply('x', calls('get-time')),
    );
    const bad = parse(
      'deepseekv3',
      section(`${call('f<｜tool▁sep｜>{bad}')}${call('f<｜tool▁sep｜>[1]')}huh`),
    );
    expect(bad.message).toEqual(reply('x'));
    expect(bad.unparsedToolCalls?.map((one) => one.reason)).toEqual([
      expect.stringContaining('Invalid JSON'),
      'Arguments are not a JSON object',
      'Text between tool calls',
    ]);
    const open = parse('deepseekv3', 'x<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜end▁of▁sentence｜>');
    expect(open.unparsedToolCalls?.map((one) => one.reason)).toEqual([
      expect.stringContaining('Unterminated tool call'),
    ]);
  });
});

describe('kimi', () => {
  test('names the call a tool answers, by id or by position', () => {
    const called = reply('', {
      toolCalls: [
        { id: 'x', name: 'f', arguments: '{}' },
        { name: 'g', arguments: '{}' },
      ],
    });

    const prompt = promptOf('kimi_k2', [user('q'), called, output('1', { toolCallId: 'x' }), output('2')]);

    expect(prompt).toContain('<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>');
    expect(prompt).toContain('<|im_system|>f<|im_middle|>## Return of x\n1<|im_end|>');
    expect(prompt).toContain('<|im_system|>g<|im_middle|>## Return of functions.g:1\n2<|im_end|>');
    expect(() => promptOf('kimi_k2', [user('q'), output('1')])).toThrow(
      'messages[1] answers a tool call but names none',
    );
  });

  test('trains the whole turn since the last reply that called no tool', () => {
    const spans = exampleOf('kimi_k2', [
      user('a'),
      reply('b'),
      user('c'),
      reply(thought('h', 'x'), calls('f')),
      output('1'),
      reply(thought('i', 'y')),
    ]);

    const trained = spans.filter(([, weight]) => weight === 1).map(([text]) => text);
    expect(trained).toEqual([
      '<think>h</think>x<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|>',
      '<think>i</think>y<|im_end|>',
    ]);
  });

  test('reports calls it cannot read', () => {
    const { message, unparsedToolCalls } = parse(
      'kimi_k2',
      'x<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{bad<|tool_call_end|><|tool_calls_section_end|><|im_end|>',
    );

    expect(message).toEqual(reply('x'));
    expect(unparsedToolCalls?.[0]?.reason).toContain('Invalid JSON');
  });

  test('declares nested tools in TypeScript, required members first', () => {
    const [declared] = findRenderer('kimi_k25', tokenizer).declareTools(
      [
        {
          name: 'book',
          description: 'Books.\n\nAtomic.',
          parameters: {
            type: 'object',
            required: ['when'],
            properties: {
              zone: { type: ['string', 'null'], default: 'CET' },
              when: { $ref: '#/$defs/When' },
              seats: {
                type: 'array',
                items: { type: 'integer', description: 'Number', minimum: 1 },
                maxItems: 4,
              },
              fare: { enum: ['low', 2, null] },
              isReturn: { type: 'boolean', default: false },
              extra: { anyOf: [{ type: 'object' }, { type: 'array', items: { type: 'string' } }] },
            },
            additionalProperties: false,
            $defs: {
              When: {
                type: 'object',
                description: 'A day',
                properties: { day: { type: 'string', maxLength: 10 } },
              },
            },
          },
        },
      ],
      '',
    );

    expect(declared?.content).toBe(
      [
        '# Tools',
        '',
        '## functions',
        'namespace functions {',
        '// A day',
        'interface When {',
        '  // maxLength: 10',
        '  day?: string',
        '}',
        '// Books.',
        '',
        '// Atomic.',
        'type book = (_: {',
        '  when: When,',
        '  extra?: {} | Array<string>,',
        '  fare?: "low" | 2 | None,',
        '  // Default: False',
        '  isReturn?: boolean,',
        '  // maxItems: 4',
        '  seats?: Array<',
        '    // Number',
        '    // minimum: 1',
        '    number',
        '  >,',
        '  // Default: "CET"',
        '  zone?: string | null,',
        '  [k: string]: never',
        '}) => any;',
        '}',
        '',
      ].join('\n'),
    );
  });
});

describe('gpt_oss', () => {
  test('reads a call up to its end where another end follows, and refuses the same end twice', () => {
    const call = ' to=functions.a<|channel|>commentary <|constrain|>json<|message|>{}<|call|>';

    expect(parse('gpt_oss_no_sysprompt', `${call}<|return|>`)).toMatchObject({
      message: { toolCalls: [{ name: 'a', arguments: '{}' }] },
      termination: 'stop_sequence',
    });
    expect(parse('gpt_oss_no_sysprompt', `${call}<|call|>`).termination).toBe('malformed');
  });

  test('keeps the text of a channel that nobody knows, and reads an empty answer as empty', () => {
    const other = '<|channel|>musing<|message|>Hm.<|end|><|start|>assistant';

    expect(parse('gpt_oss_no_sysprompt', `${other}<|channel|>final<|message|>4<|return|>`).message).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Hm.' },
        { type: 'text', text: '4' },
      ],
    });
    expect(parse('gpt_oss_no_sysprompt', '<|channel|>final<|message|><|return|>').message.content).toEqual(
      [],
    );
  });

  test('writes every system message of a conversation with tools, an empty one among them', () => {
    const renderer = findRenderer('gpt_oss_low_reasoning', tokenizer);
    const tools = [{ name: 'f', description: '', parameters: {} }];
    const written = (...systems: string[]) => {
      const messages = [...systems.map((content): Message => ({ role: 'system', content })), user('q')];
      return tokenizer.decode(
        renderer.buildGenerationPrompt(conversationWithTools(renderer, messages, tools)),
      );
    };

    expect(written('A', 'B')).toMatch(
      /Calls to these tools.*# Instructions\n\nA\n\n# Tools.*# Instructions\n\nB\n\n<\|end\|>/s,
    );
    expect(written('')).not.toContain('# Instructions');
    expect(written('A', '')).toContain('<|start|>developer<|message|># Instructions\n\n\n\n<|end|>');
  });

  test('writes the first system message as the template does: none where it is empty, the sentence about tools within', () => {
    const tools = [{ name: 'f', description: '', parameters: {} }];
    const renderer = findRenderer('gpt_oss_low_reasoning', tokenizer);
    const first = (messages: readonly Message[]) =>
      tokenizer.decode(renderer.buildGenerationPrompt(messages)).split('<|end|>', 2);

    expect(first(conversationWithTools(renderer, [user('q')], tools))[0]).toMatch(
      /every message\.\nCalls to these tools must go to the commentary channel: 'functions'\.$/,
    );
    expect(first([{ role: 'system', content: '' }, user('q')])[1]).toBe('<|start|>user<|message|>q');
    expect(first([{ role: 'developer', content: 'A' }, user('q')])[1]).toBe(
      '<|start|>developer<|message|># Instructions\n\nA\n\n',
    );
  });

  test('drops reasoning beside a call once an answer follows, and no words', () => {
    const thinking = { type: 'thinking', thinking: 'hm' } as const;
    const calls = { toolCalls: [{ name: 'f', arguments: '{"a":1}' }] };
    const turn = (content: Message['content']) => [user('q'), reply(content, calls), output('1')];
    const said = { type: 'text', text: 'Looking.' } as const;

    const header = '<|start|>user<|message|>q<|end|><|start|>assistant';
    const call = ' to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>';
    expect(promptOf('gpt_oss_no_sysprompt', turn([thinking]))).toContain(
      `${header}<|channel|>analysis<|message|>hm<|end|><|start|>assistant${call}`,
    );
    expect(promptOf('gpt_oss_no_sysprompt', turn([said]))).toContain('analysis<|message|>Looking.');
    const after = promptOf('gpt_oss_no_sysprompt', [...turn([thinking, said]), reply('4'), user('r')]);
    expect(after).not.toContain('hm');
    expect(after).toContain('commentary<|message|>Looking.');
  });

  test('reads reasoning, words and a call of one reply', () => {
    const { message, termination } = parse(
      'gpt_oss_no_sysprompt',
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>Looking.<|end|>' +
        '<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"a": 1}<|call|>',
    );

    expect(message).toEqual(
      reply(thought('hm', 'Looking.'), { toolCalls: [{ name: 'f', arguments: '{"a": 1}' }] }),
    );
    expect(termination).toBe('stop_sequence');
  });

  test.each([
    [' to=functions.f<|channel|>commentary<|message|>{bad<|call|>', 'Invalid JSON'],
    [' to=functions.f<|channel|>commentary<|message|><|call|>', 'Invalid JSON'],
    [' to=functions.f<|channel|>commentary<|call|>', 'Unterminated tool call'],
  ])('reports the call %j', (text, reason) => {
    const { message, unparsedToolCalls } = parse('gpt_oss_no_sysprompt', text);

    expect(message.toolCalls).toBeUndefined();
    expect(unparsedToolCalls?.map((call) => call.reason)).toEqual([expect.stringContaining(reason)]);
  });

  test('finds the name of the tool that answered', () => {
    const called = reply('', { toolCalls: [{ id: 'c1', name: 'f', arguments: '{}' }] });

    expect(
      promptOf('gpt_oss_no_sysprompt', [user('q'), called, output('1', { toolCallId: 'c1' })]),
    ).toContain('<|start|>functions.f to=assistant<|channel|>commentary<|message|>"1"<|end|>');
    expect(() => promptOf('gpt_oss_no_sysprompt', [user('q'), output('1')])).toThrow(
      "without the tool's name",
    );
  });

  test('declares every kind of parameter', () => {
    const [, developer] = findRenderer('gpt_oss_no_sysprompt', tokenizer).declareTools(
      [
        {
          name: 'f',
          description: '',
          parameters: {
            type: 'object',
            description: 'All',
            required: ['a'],
            properties: {
              a: { type: 'string', enum: ['x', 'y'], title: 'A', description: 'An a', examples: ['x'] },
              b: { type: 'array', items: { type: 'number' }, default: [1] },
              c: { oneOf: [{ type: 'boolean' }, { type: 'object', properties: { d: { type: 'integer' } } }] },
              e: { type: ['string', 'null'] },
              g: { type: 'string', nullable: true },
              h: { type: 'object', properties: { d: { type: 'integer' } } },
              i: { type: 'array', items: { type: 'object', properties: { [`long${'g'.repeat(40)}`]: {} } } },
              j: { oneOf: [{ type: 'boolean' }, { type: 'string', default: 'z' }] },
            },
          },
        },
        { name: 'now', description: 'Time', parameters: {} },
      ],
      '',
    );

    expect(developer?.content).toBe(
      [
        '# Tools\n\n## functions\n\nnamespace functions {\n',
        '// ',
        'type f = (_: {',
        '// An a',
        'a: "x" | "y",',
        'b?: number[], // default: [1],',
        'c?: any,',
        'e?: string | null,',
        'g?: string | null,',
        'h?: {\nd?: \n                number},',
        'i?: any[],',
        'j?: boolean | \nstring                    // default: "z",',
        '}) => any;',
        '',
        '// Time',
        'type now = () => any;',
        '',
        '} // namespace functions',
      ].join('\n'),
    );
  });

  test('writes the same prompt on every day', () => {
    expect(promptOf('gpt_oss_high_reasoning', [user('q')])).toContain(
      'Current date: 2024-07-26\n\nReasoning: high\n\n',
    );
  });
});
