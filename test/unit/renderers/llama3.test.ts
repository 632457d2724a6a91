import type { Message } from '../../../src/core/conversation';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

function llama3(chatTemplate: string | null) {
  const tokenizer = Object.assign(new CharacterTokenizer(), { chatTemplate, source: 'model' });
  const renderer = findRenderer('llama3', tokenizer);
  return {
    prompt: (messages: Message[]) => tokenizer.decode(renderer.buildGenerationPrompt(messages)),
    trained: (messages: Message[]) => {
      const { tokens, weights } = renderer.buildSupervisedExample(messages, 'allAssistantMessages');
      return tokenizer.decode(tokens.filter((_, index) => weights[index] === 1));
    },
  };
}

const header = (role: string) => `<|start_header_id|>${role}<|end_header_id|>\n\n`;
const DATES = 'Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n';

test('takes off the space around words, as the template does', () => {
  const messages = [
    { role: 'system', content: '\nS ' },
    { role: 'user', content: 'hello \n' },
    { role: 'assistant', content: ' hi\n' },
  ];

  expect(llama3(null).prompt(messages)).toBe(
    `<|begin_of_text|>${header('system')}S<|eot_id|>${header('user')}hello<|eot_id|>${header('assistant')}hi<|eot_id|>${header('assistant')}`,
  );
  expect(llama3(null).trained(messages)).toBe('hi<|eot_id|>');
});

test("has the dates of a model's own template, before a system prompt and where there is none", () => {
  const { prompt, trained } = llama3('…Cutting Knowledge Date: December 2023…');
  const user = { role: 'user', content: 'a' };
  const begin = `<|begin_of_text|>${header('system')}${DATES}`;
  const end = `<|eot_id|>${header('user')}a<|eot_id|>${header('assistant')}`;

  expect(prompt([user])).toBe(begin + end);
  expect(prompt([{ role: 'system', content: ' S\n' }, user])).toBe(`${begin}S${end}`);
  expect(trained([user, { role: 'assistant', content: 'b' }])).toBe('b<|eot_id|>');
});
