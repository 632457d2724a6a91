import type { Message } from '../../../src/core/conversation';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
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

test('is refused where the format has no tools', () => {
  const plain = findRenderer('role_colon', new CharacterTokenizer());

  expect(() => conversationWithTools(plain, [user], tools)).toThrow('Renderer "role_colon" has no tools');
});
