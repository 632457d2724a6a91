import { ChatBody } from '../../../../src/server/gateway/chat-schemas';
import { parsePart } from '../../../../src/server/http/parse-part';

const question = { role: 'user', content: 'What is your name?' };
const read = (...messages: object[]) =>
  parsePart(ChatBody, { model: 'm', messages }, { part: 'body' }).messages;

test.each([
  ['images', { ...question, images: ['x'] }],
  ['reasoning', { role: 'assistant', content: 'Ada', reasoning: 'hm' }],
  ['refusal', { role: 'assistant', content: 'Ada', refusal: 'no' }],
  ['weight', { role: 'system', content: 'a', weight: 0 }],
  ['images', { role: 'tool', content: 'a', tool_call_id: 'c', images: [] }],
  [
    'input',
    { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}', input: 'a' } }] },
  ],
])('refuses the unknown field %s inside a message, naming it', (field, message) => {
  expect(() => read(question, message)).toThrow(field);
  expect(() => read(question, message)).toThrow('messages.1');
});

test('takes an answer back as clients write it out', () => {
  const answer = {
    role: 'assistant',
    content: null,
    ...{ refusal: null, audio: null, function_call: null, annotations: [], reasoning_content: null },
    tool_calls: [{ id: 'c', type: 'function', index: 0, function: { name: 'f', arguments: '{}' } }],
  };

  expect(read(question, answer)).toHaveLength(2);
});
