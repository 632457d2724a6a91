import { parseEndpointUrl } from '../../../../src/engines/openai/endpoint-address';
import { isOutage, refusalError, refusalIn, withoutKeyInJson } from '../../../../src/engines/openai/refusals';

const TO = {
  address: parseEndpointUrl('http://host:8000/v1/'),
  path: '/chat/completions',
  model: 'm',
  apiKey: undefined,
};

/** As the servers write them. */
const OVERFLOWS = [
  "This model's maximum context length is 8192 tokens. However, you requested 8400 tokens (8368 in the messages, 32 in the completion). Please reduce the length of the messages or completion.",
  "'max_tokens' or 'max_completion_tokens' is too large: 32768. This model's maximum context length is 4096 tokens and your request has 20 input tokens",
  'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
  "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
  "Requested token count exceeds the model's maximum context length of 4096 tokens.",
  'the request exceeds the available context size, try increasing it',
  'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
  '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`',
  'prompt is too long: 210000 tokens > 200000 maximum',
  'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is larger than the context length',
];

test.each(OVERFLOWS)('"%s" is a context overflow', (message) => {
  const text = JSON.stringify({ error: { message } });

  expect(refusalError({ status: 400, text }, TO).code).toBe('context-overflow');
});

test.each([
  "Invalid value for 'temperature': must be at most 2",
  'The response_format is not supported in this context',
  "Unknown parameter: 'context'",
  'max_tokens must be at least 1',
])('"%s" is another failure', (message) => {
  const text = JSON.stringify({ error: { message } });

  expect(refusalError({ status: 400, text }, TO)).toMatchObject({ code: 'request-failed', category: 'user' });
});

test.each([
  [500, true],
  [502, true],
  [504, true],
  [501, false],
  [408, true],
  [409, true],
  [404, false],
])('%i is an outage: %p', (status, isOne) => {
  expect(isOutage({ status, text: '' })).toBe(isOne);
});

test('the hint of a missing route names the version only where the URL lacks it', () => {
  const bare = { ...TO, address: parseEndpointUrl('http://host:8000') };

  expect(refusalError({ status: 404, text: 'Not Found' }, bare).message).toContain(
    'try http://host:8000/v1.',
  );
  expect(refusalError({ status: 404, text: 'Not Found' }, TO).message).not.toContain('try http');
});

test('a redirect names where it leads', () => {
  const refusal = { status: 301, text: '', location: 'https://host/v1/chat/completions' };

  expect(refusalError(refusal, TO).message).toContain('It sends on to https://host/v1/chat/completions');
});

test('a failure inside of an answer has its own status; an answer with choices is none', () => {
  expect(refusalIn({ error: { code: 402, message: 'no' } }, '{}')?.status).toBe(402);
  expect(refusalIn({ error: { code: 'bad', message: 'no' } }, '{}')?.status).toBe(500);
  expect(refusalIn({ error: null, choices: [{}] }, '{}')).toBeNull();
  expect(refusalIn({ error: {}, choices: [{}] }, '{}')).toBeNull();
});

test('a redirect repeats no key and is cut', () => {
  const apiKey = 'unusual-0123456789';
  const location = `https://host/?t=${apiKey}&x=${'a'.repeat(5000)}`;
  const { message } = refusalError({ status: 301, text: '', location }, { ...TO, apiKey });

  expect(message).toContain('It sends on to https://host/?t=…&x=');
  expect(message.length).toBeLessThan(1500);
});

test('a key is found in JSON however it is written there', () => {
  const apiKey = 'abc/def-0123456789';
  const escaped = Array.from(apiKey, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('');
  const said = (text: string) => JSON.parse(withoutKeyInJson(`{"a":"${text}"}`, { apiKey })) as unknown;

  expect(said(`x${escaped}y`)).toEqual({ a: 'x…y' });
  expect(said(apiKey.replace('/', String.raw`\/`))).toEqual({ a: '…' });
  expect(said(String.raw`\\u0061 \u0022\u005c\u000a\n\" é\u00e9`)).toEqual({
    a: '\\u0061 "\\\n\n" éé',
  });
});

test.each([
  ['in a form that nobody knows', (key: string) => `{"error":{"info":"${key}"}}`],
  ['in JSON in a text', (key: string) => JSON.stringify({ error: { message: `{"at":"${key}"}` } })],
])('a refusal repeats no key that stands with escapes %s', (_, say) => {
  const apiKey = 'azure-less-0123456789';
  const escaped = Array.from(apiKey, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('');
  const { message } = refusalError({ status: 400, text: say(escaped) }, { ...TO, apiKey });

  expect(message).toContain('…');
  expect(message).not.toContain('u0061');
});
