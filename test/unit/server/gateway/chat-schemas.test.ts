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

const nested = (depth: number) =>
  `${'{"type":"object","properties":{"a":'.repeat(depth)}{}${'}}'.repeat(depth)}`;
const withTool = (depth: number) => ({
  ...{ model: 'm', messages: [question] },
  tools: [{ type: 'function', function: { name: 'f', parameters: JSON.parse(nested(depth)) as unknown } }],
});

test('a schema or a call nested too deep for whoever writes it is refused where it stands', () => {
  const call = { function: { name: 'f', arguments: nested(1000) } };

  expect(() => parsePart(ChatBody, withTool(1000), { part: 'body' })).toThrow(
    expect.objectContaining({
      status: 400,
      param: 'tools.0.function.parameters',
      message: expect.stringContaining('lists and objects lie more than 100 deep') as string,
    }) as Error,
  );
  expect(() => read(question, { role: 'assistant', tool_calls: [call] })).toThrow(
    expect.objectContaining({ status: 400, param: 'messages.1.tool_calls.0.function.arguments' }) as Error,
  );
  expect(parsePart(ChatBody, withTool(40), { part: 'body' }).tools).toHaveLength(1);
});
