import pino from 'pino';
import { readMessages, readTools } from '../../../src/server/gateway/chat-messages';
import { ChatBody } from '../../../src/server/gateway/chat-schemas';
import { createServer } from '../../../src/server/create-server';
import { parsePart } from '../../../src/server/http/parse-part';
import { createRunStore } from '../../../src/stores/run-store';
import type { FuzzTarget } from '../target';
import { jsonOf, passAll } from '../target';

const records = createRunStore('/nowhere');
const { specs } = createServer({
  guard: { token: null, hosts: [] },
  runs: { records, findTemporal: () => null },
  logger: pino({ level: 'silent' }),
  gateway: {
    records,
    engine: { defaultUrl: () => null, fixedUrl: null, tokenizerOf: () => Promise.reject(new Error('none')) },
  },
});

const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };

/** Bodies of `everstep serve`, as its routes read them. */
export const target: FuzzTarget = {
  name: 'serve-bodies',
  seeds: () =>
    [
      {
        model: 'a@1',
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 5,
        temperature: 0.5,
        stop: ['x'],
      },
      {
        model: 'a',
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'S' }] },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: '1', content: 'x' },
        ],
        tools: [tool],
        tool_choice: 'auto',
      },
      { model: 'a', prompt: 'x', logprobs: 2, n: 2, stream: true },
      { by: 'me', reason: 'why', atStep: 5, value: 0.1 },
    ].map((body) => JSON.stringify(body)),
  words: ['tool_choice', 'required', 'stop', 'n', 'logprobs', 'stream', 'messages', 'model'],
  run(bytes) {
    const body = jsonOf(bytes);
    const refusals = [...specs].flatMap(({ body: schema }) =>
      schema ? [() => parsePart(schema, body, { part: 'body' })] : [],
    );
    const chat = ChatBody.safeParse(body);
    if (chat.success) refusals.push(() => [readMessages(chat.data.messages), readTools(chat.data)]);
    return passAll(refusals);
  },
};
