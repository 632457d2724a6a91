import { completionsDialect, roleColonPrompt } from '../../../../src/engines/openai/completions-dialect';

const params = { maxTokens: 16, temperature: 0, topP: 1 };

test('a conversation is written in role_colon style, without reasoning', () => {
  const prompt = roleColonPrompt([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '2+2?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'sum' },
        { type: 'text', text: '4' },
      ],
    },
    { role: 'user', content: '3+3?' },
  ]);

  expect(prompt).toBe('System: Be brief.\n\nUser: 2+2?\n\nAssistant: 4\n\nUser: 3+3?\n\nAssistant:');
});

test('tools are refused with the remedy', () => {
  const tools = [{ name: 'f', description: '', parameters: {} }];

  expect(() => completionsDialect(undefined).body({ messages: [], params, tools }, 'm')).toThrow(/chat API/);
});

test('reasoning in the text becomes a part', () => {
  const { message, rawText } = completionsDialect(undefined).read({ text: ' <think>sum</think> 4' }, String);

  expect(message.content).toEqual([
    { type: 'thinking', thinking: 'sum' },
    { type: 'text', text: '4' },
  ]);
  expect(rawText).toBe(' <think>sum</think> 4');
});
