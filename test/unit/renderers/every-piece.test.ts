import type { Message } from '../../../src/core/conversation';
import type { ToolDeclaration } from '../../../src/core/completion';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer, RENDERER_NAMES } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

/** As DeepSeek V3's: calls are written only where there is no content, which is never so. */
const NO_CALLS =
  '{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<｜end▁of▁sentence｜>{% endfor %}' +
  '{% if add_generation_prompt %}<|assistant|>{% endif %}';
const CALLS = NO_CALLS.replace(
  '<｜end',
  '{% for c in m.tool_calls %}<|call|>{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}<｜end',
);
const TOOLS = `{% for t in tools or [] %}{{ t | tojson }}{% endfor %}${CALLS}`;

function rendererOf(name: string, chatTemplate: string) {
  const tokenizer = new CharacterTokenizer();
  return findRenderer(name, Object.assign(tokenizer, { chatTemplate, source: 'model', longestToken: null }));
}

const train =
  (template: string, messages: readonly Message[], name = 'chat_template') =>
  () =>
    rendererOf(name, template).buildSupervisedExample(messages, 'allAssistantMessages');
const prompt =
  (template: string, messages: readonly Message[], name = 'chat_template') =>
  () =>
    rendererOf(name, template).buildGenerationPrompt(messages);

const calling = (name: string, text: string): Message[] => [
  { role: 'user', content: 'Add 17 and 25' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name, arguments: text }] },
  { role: 'tool', content: '42', toolCallId: 'c1' },
  { role: 'assistant', content: '42' },
];

describe('a call that a template leaves out', () => {
  test.each([
    ['sentence', '{"n": 17}'],
    ['f', '{"a": 5}'],
    ['f', '{"a":1e-05,"b":2.0,"c":12345678901234567890123}'],
    ['assistant', '{}'],
    ['get_weather', '{"city": "Oslo"}'],
  ])('is refused, whatever its name: %s %s', (name, text) => {
    const problem = `messages[1]: renderer "chat_template" does not write the call of tool "${name}"`;

    expect(train(NO_CALLS, calling(name, text))).toThrow(problem);
    expect(prompt(NO_CALLS, calling(name, text).slice(0, 3))).toThrow(problem);
    expect(train(CALLS, calling(name, text))).not.toThrow();
  });

  test.each(['llama3', 'role_colon'])('%s does not find its name in the layout', (name) => {
    for (const called of ['assistant', 'Assistant', 'f', 'header'])
      expect(train(NO_CALLS, calling(called, '{}'), name)).toThrow(
        `does not write the call of tool "${called}"`,
      );
  });
});

test.each([
  ['{"n": 17}', '17 in the call of tool "f"'],
  ['{"end": true}', 'true in the call of tool "f"'],
  ['{"end": "of"}', '"of" in the call of tool "f"'],
])('values that a template leaves out of a call are refused: %s', (text, problem) => {
  const keys = CALLS.replace('c.function.arguments | tojson', 'c.function.arguments.keys() | list');

  expect(train(keys, calling('f', text))).toThrow(problem);
});

test('words that occur in the layout are no words of a message', () => {
  const noTool = CALLS.replace('{% for m in messages %}', "{% for m in messages if m.role != 'tool' %}");
  const messages = calling('f', '{}').map((message) =>
    message.role === 'tool' ? { ...message, content: 'sentence' } : message,
  );

  expect(train(noTool, messages)).toThrow(
    'messages[2]: renderer "chat_template" does not write the words of role "tool"',
  );
  expect(prompt(noTool, messages.slice(0, 3))).toThrow('messages[2]');
});

describe('declared tools', () => {
  const tool = {
    ...{ name: 'sum', description: 'adds', returns: { type: 'number' }, strict: true },
    parameters: { type: 'object', properties: { of: { type: 'number' } }, required: ['of'] },
  } satisfies ToolDeclaration & Record<string, unknown>;
  const asked = calling('sum', '{"of": 5}');
  const withTools = (template: string, tools: readonly ToolDeclaration[]) => () =>
    rendererOf('chat_template', template).buildGenerationPrompt(
      conversationWithTools(rendererOf('chat_template', template), asked.slice(0, 1), tools),
    );

  test.each([
    [
      '{{ t.function.description }}{{ t.function.parameters | tojson }}{{ t.function.returns | tojson }}',
      'tool "sum"',
    ],
    [
      '{{ t.function.name }}{{ t.function.parameters | tojson }}{{ t.function.returns | tojson }}',
      'the description of tool "sum"',
    ],
    [
      '{{ t.function.name }}{{ t.function.description }}{{ t.function.returns | tojson }}',
      'parameter "of" of tool "sum"',
    ],
    [
      '{{ t.function.name }}{{ t.function.description }}{{ t.function.parameters | tojson }}',
      '"returns" of tool "sum"',
    ],
  ])('a template that writes only %s is refused', (written, problem) => {
    expect(withTools(TOOLS.replace('{{ t | tojson }}', written), [tool])).toThrow(
      `does not write ${problem}`,
    );
  });

  test('a template that writes all of them is taken, without what says nothing to a model', () => {
    const written =
      '{{ t.function.name }}{{ t.function.description }}{{ t.function.parameters | tojson }}{{ t.function.returns | tojson }}';

    expect(withTools(TOOLS.replace('{{ t | tojson }}', written), [tool])).not.toThrow();
  });
});

describe('a message that declares tools', () => {
  const declares = (content: string): Message[] => [{ role: 'tool_declare', content }, ...calling('f', '{}')];
  const list = '[{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}]';

  test('is handed to a template that reads it, in either nesting', () => {
    const inner = '[{"name": "f", "description": "", "parameters": {}}]';
    const tokens = train(TOOLS, declares(list))().tokens;

    expect(train(TOOLS, declares(inner))().tokens).toEqual(tokens);
    expect(new CharacterTokenizer().decode(tokens)).toContain(
      '{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}<|user|>',
    );
  });

  test('is refused by a template that does not write it', () => {
    expect(train(CALLS, declares(list))).toThrow('does not write tool "f"');
  });

  test.each([
    [declares('one two')],
    [[...calling('f', '{}'), ...declares(list)]],
    [[...declares(list), ...declares(list)]],
  ])('is refused where it is no list, or not the first', (messages) => {
    expect(train(TOOLS, messages)).toThrow('a message of role "tool_declare" has to be the first');
  });

  test.each(RENDERER_NAMES.filter((name) => name !== 'chat_template' && !name.startsWith('kimi')))(
    '%s knows no such role, nor that of Llama’s tools',
    (name) => {
      expect(train(TOOLS, declares(list), name)).toThrow(/role "tool_declare"/);
      if (name === 'llama3') return;
      expect(
        train(TOOLS, [...calling('f', '{}').slice(0, 1), { role: 'ipython', content: '4' }], name),
      ).toThrow(/role "ipython"/);
    },
  );
});
