import type { Message } from '../../../src/core/conversation';
import { conversationWithTools, renderWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

const renderer = findRenderer('everstep', new CharacterTokenizer());
const tools = [{ name: 'now', description: 'The time', parameters: { type: 'object', properties: {} } }];
const user: Message = { role: 'user', content: 'a' };

test('declares tools before the conversation, with its system prompt', () => {
  const system: Message = { role: 'system', content: [{ type: 'text', text: 'S' }] };

  expect(conversationWithTools(renderer, [system, user], tools)).toEqual([
    { role: 'system', content: 'S\nnow{}' },
    user,
  ]);
  expect(conversationWithTools(renderer, [user], tools)).toEqual([
    { role: 'system', content: 'now{}' },
    user,
  ]);
});

test('leaves conversations without tools as they are', () => {
  const messages = [{ role: 'system', content: 'S' }, user];

  expect(conversationWithTools(renderer, messages)).toBe(messages);
  expect(conversationWithTools(renderer, messages, [])).toBe(messages);
});

test('marks the declaration as the system prompt is marked, or as not trained on', () => {
  const marked = { ...user, trainable: true };
  const system = { role: 'system', content: 'S', trainable: true };

  expect(conversationWithTools(renderer, [marked], tools)[0]?.trainable).toBe(false);
  expect(conversationWithTools(renderer, [system, marked], tools)[0]?.trainable).toBe(true);
  expect(() =>
    renderer.buildSupervisedExample(conversationWithTools(renderer, [marked], tools), 'customized'),
  ).not.toThrow();
});

describe('what is refused is numbered as it was given', () => {
  const named: Message = { role: 'user', content: 'a', name: 'bob' };
  const problemOf = (name: string, numbers?: { field: string; before: number }) => () =>
    renderWithTools(
      findRenderer(name, new CharacterTokenizer()),
      { messages: [named], tools, ...(numbers && { numbers }) },
      (conversation) => findRenderer(name, new CharacterTokenizer()).buildGenerationPrompt(conversation),
    );

  test.each(['everstep', 'qwen3', 'gpt_oss_medium_reasoning', 'kimi_k2'])(
    'after what %s declares',
    (name) => {
      expect(problemOf(name)).toThrow(/^messages\[0\]/);
    },
  );

  test('under the field that it stands in, after a system prompt of its own', () => {
    expect(problemOf('everstep', { field: 'conversations', before: 0 })).toThrow(/^conversations\[0\]/);
    expect(problemOf('everstep', { field: 'messages', before: 1 })).toThrow(/^the system message or history/);
  });
});

describe('parameters whose names do not stand under "properties"', () => {
  const declared = (parameters: Record<string, unknown>) => [{ name: 'f', description: 'd', parameters }];
  const render = (name: string, parameters: Record<string, unknown>) => () =>
    conversationWithTools(findRenderer(name, new CharacterTokenizer()), [user], declared(parameters));

  test.each([
    ['everstep', 'everstep'],
    ['gpt_oss_medium_reasoning', 'gpt_oss'],
    ['kimi_k25', 'kimi_k25'],
  ])('are refused by %s, which would not write them', (name, called) => {
    const remedy = 'of its parameters. Declare them as {"type": "object", "properties"';
    expect(render(name, { city: { type: 'string' }, n: { type: 'int' } })).toThrow(
      `Tool "f": renderer "${called}" does not write "city", "n" ${remedy}`,
    );
    expect(render(name, { type: 'object', properties: [{ name: 'city' }] })).toThrow(remedy);
    expect(render(name, { type: 'object', properties: { city: { type: 'string' } } })).not.toThrow();
    expect(render(name, { type: 'object', required: [], title: 'T' })).not.toThrow();
  });

  test('are written by qwen3', () => {
    const [system] = render('qwen3', { city: { type: 'string' } })();

    expect(JSON.stringify(system)).toContain('city');
  });
});

test('is refused where the format has no tools', () => {
  const plain = findRenderer('role_colon', new CharacterTokenizer());

  expect(() => conversationWithTools(plain, [user], tools)).toThrow('Renderer "role_colon" has no tools');
});

describe('answers of tools that name their calls in another order', () => {
  const toolCalls = ['a', 'b'].map((id) => ({ id, name: 'f', arguments: `{"x": "${id}"}` }));
  const answer = (id: string): Message => ({ role: 'tool', content: `answer of ${id}`, toolCallId: id });
  const asked: Message[] = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: '', toolCalls },
  ];
  const done: Message = { role: 'assistant', content: 'done' };
  const template =
    '{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}<|im_end|>\n{% endfor %}' +
    '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}{# tools #}';
  const withTemplate = (chatTemplate: string) =>
    Object.assign(new CharacterTokenizer(), { chatTemplate, source: 'model', longestToken: null });
  const texts = (name: string, messages: Message[], source = template) => {
    const tokenizer = withTemplate(source);
    const renderer = findRenderer(name, tokenizer);
    return [
      renderer.buildSupervisedExample([...messages, done], 'lastAssistantMessage').tokens,
      renderer.buildGenerationPrompt(messages),
    ].map((tokens) => tokenizer.decode(tokens));
  };
  const inOrder = [...asked, answer('a'), answer('b')];
  const swapped = [...asked, answer('b'), answer('a')];

  test.each(['qwen3', 'qwen3_5', 'deepseekv3', 'nemotron3', 'gpt_oss_low_reasoning', 'chat_template'])(
    '%s, which writes no ids, puts them into the order of the calls',
    (name) => {
      expect(texts(name, swapped)).toEqual(texts(name, inOrder));
      expect(() => texts(name, [...asked, answer('a'), answer('c')])).toThrow(
        'messages[3] answers the tool call "c", which the reply before it does not make (a, b).',
      );
    },
  );

  test.each(['qwen3', 'deepseekv3', 'gpt_oss_low_reasoning', 'chat_template'])(
    '%s refuses an answer of another tool than was called',
    (name) => {
      const named = (id: string, tool: string) => ({ ...answer(id), name: tool });

      expect(texts(name, [...asked, named('a', 'f'), answer('b')])).toHaveLength(2);
      expect(() => texts(name, [...asked, answer('a'), named('b', 'other')])).toThrow(
        'messages[3] is the answer of tool "other" to a call of "f".',
      );
    },
  );

  test('what writes ids keeps the order of the row', () => {
    const withIds = template.replace('{{ m.content }}', '{{ m.tool_call_id }}{{ m.content }}');
    for (const written of [...texts('kimi_k2', swapped), ...texts('chat_template', swapped, withIds)])
      expect(written.indexOf('answer of b')).toBeLessThan(written.indexOf('answer of a'));
  });

  test('answers without ids stay where they are', () => {
    const [written = ''] = texts('qwen3', [...asked, { role: 'tool', content: 'first' }, answer('a'), done]);

    expect(written.indexOf('first')).toBeLessThan(written.indexOf('answer of a'));
  });
});
