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

const readBody = (fields: object) =>
  parsePart(ChatBody, { model: 'm', messages: [question], ...fields }, { part: 'body' });

test.each([
  ['logit_bias', { '50256': -100 }, 'leave it out, or give {}'],
  ['logit_bias', [], 'leave it out, or give {}'],
  ['presence_penalty', 1, 'leave it out, or give 0'],
  ['response_format', { type: 'json_object' }, 'leave it out, or give "text"'],
  ['response_format', 'json', 'leave it out, or give "text"'],
  ['tool_choice', 'required', 'A call cannot be forced'],
  ['tool_choice', { type: 'function', function: { name: 'f' } }, 'A call cannot be forced'],
  ['function_call', { name: 'f' }, 'A call cannot be forced'],
  ['functions', [{ name: 'f' }], 'give them in tools'],
  ['tools', [{ type: 'custom', custom: { name: 'f' } }], 'only those of type "function"'],
  ['modalities', ['text', 'audio'], 'give ["text"]'],
  ['modalities', ['audio'], 'give ["text"]'],
  ['audio', { voice: 'alloy', format: 'wav' }, 'Answers are text alone'],
  ['web_search_options', {}, 'Nothing is searched'],
  ['reasoning_effort', 'low', 'max_tokens limits'],
  ['verbosity', 'low', 'max_tokens limits'],
])('refuses what cannot be met, naming %s and why: %j', (key, value, reason) => {
  const reading = () => readBody({ [key]: value });
  expect(reading).toThrow(reason);
  expect(reading).toThrow(new RegExp(String.raw`^${key}[\w.]* \(body\): `));
  expect(reading).not.toThrow(/Invalid|Too big|Unrecognized/);
});

test.each([
  { logit_bias: {} },
  { logit_bias: { '5': 0 } },
  { user: 'u', metadata: { a: 'b' }, store: false, service_tier: 'auto', prompt_cache_retention: '24h' },
  { prediction: { type: 'content', content: 'Ada' } },
  { functions: [], function_call: 'none', modalities: ['text'], tool_choice: 'auto' },
  { audio: null, web_search_options: null, reasoning_effort: null, verbosity: null, prediction: null },
])('takes what changes no answer: %j', (fields) => {
  expect(readBody(fields)).toMatchObject({ model: 'm' });
});

test.each([
  [{ refusal: 'no' }, 'may stand in content'],
  [{ audio: { id: 'a' } }, 'Messages are text alone'],
  [{ function_call: { name: 'f' } }, 'Calls are taken as tool_calls'],
  [{ annotations: [{}] }, 'No prompt format writes annotations'],
])('says of a message why %j is refused', (fields, reason) => {
  expect(() => read(question, { role: 'assistant', content: 'Ada', ...fields })).toThrow(reason);
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
