import type { CompletionRequest } from '../../../../src/core/completion';
import type { SampleRequest, Sampler } from '../../../../src/core/sampling';
import { ContextCap } from '../../../../src/evaluation/completers/context-cap';
import { TokenCompleter } from '../../../../src/evaluation/completers/token-completer';
import { findRenderer } from '../../../../src/renderers/find-renderer';
import { CharacterTokenizer } from '../../renderers/character-tokenizer';

const tokenizer = new CharacterTokenizer();
const renderer = findRenderer('everstep', tokenizer);
const PARAMS = { maxTokens: 50, temperature: 0, topP: 1, seed: 7 };

function requestOf(content: string): CompletionRequest {
  return { messages: [{ role: 'user', content }], params: PARAMS };
}

function completerOver(answer: string | Promise<never>, contextLength: number | null = null) {
  const requests: SampleRequest[] = [];
  const sampler: Sampler = {
    async sample(request) {
      requests.push(request);
      const tokens = tokenizer.encode(`${await answer}<|end|>`, { allowSpecial: true });
      return { sequences: [{ tokens, logprobs: null, stopReason: 'stop' }], promptLogprobs: null };
    },
  };
  return { completer: new TokenCompleter({ sampler, renderer, tokenizer, contextLength }), requests };
}

test('reads a completion of tokens back as a message', async () => {
  const { completer, requests } = completerOver('12');

  const completion = await completer.complete(requestOf('5+7='));

  expect(completion).toMatchObject({
    message: { role: 'assistant', content: '12' },
    rawText: '12<|end|>',
    stopReason: 'stop',
    promptTokenCount: requests[0]?.prompt.length,
    tokens: { prompt: requests[0]?.prompt },
  });
  expect(requests[0]?.params).toMatchObject({ seed: 7, maxTokens: 50 });
  expect(completer.promptText([{ role: 'user', content: '5+7=' }])).toContain('5+7=');
});

test('asks for no more tokens than the context has left, and refuses a prompt that fills it', async () => {
  const long = completerOver('12', 40);
  await long.completer.complete(requestOf('5+7='));
  const full = completerOver('12', 3);

  const promptLength = long.requests[0]?.prompt.length ?? 0;
  expect(long.requests[0]?.params.maxTokens).toBe(40 - promptLength);
  await expect(full.completer.complete(requestOf('5+7='))).rejects.toMatchObject({
    code: 'context-overflow',
  });
  expect(full.requests).toEqual([]);
});

test('comes to an end in time, or when it is called off, although the sampler does not listen', async () => {
  const { completer } = completerOver(new Promise<never>(() => undefined));
  const stop = new AbortController();
  const called = completer.complete(requestOf('5+7='), { signal: stop.signal });

  await expect(completer.complete(requestOf('5+7='), { timeoutMs: 20 })).rejects.toMatchObject({
    code: 'timed-out',
  });
  stop.abort();
  await expect(called).rejects.toThrow('aborted');
});

test.each([
  ['the end of turn is a token', 'qwen3', '<|im_end|>'],
  ['the end of turn is a text', 'role_colon', '\n\nUser:'],
])("ends a completion at the client's stop texts where %s", async (_, name, end) => {
  const ownRenderer = findRenderer(name, tokenizer);
  const sampler: Sampler = {
    sample: () => {
      const tokens = tokenizer.encode(`12, then STOP and 13${end}`, { allowSpecial: true });
      return Promise.resolve({
        sequences: [{ tokens, logprobs: null, stopReason: 'stop' }],
        promptLogprobs: null,
      });
    },
  };
  const completer = new TokenCompleter({ sampler, renderer: ownRenderer, tokenizer, contextLength: null });
  const { messages } = requestOf('5+7=');

  const cut = await completer.complete({ messages, params: { ...PARAMS, stop: ['STOP', 'and'] } });
  const whole = await completer.complete({ messages, params: { ...PARAMS, stop: ['never'] } });

  expect(cut).toMatchObject({
    message: { content: '12, then ' },
    rawText: '12, then ',
    stopReason: 'stop',
    completionTokenCount: expect.any(Number) as number,
  });
  expect(cut.isMalformed ?? false).toBe(false);
  expect(whole).toMatchObject({ message: { content: '12, then STOP and 13' } });
});

test.each([
  ['what fits stays', 'short', 4000, 50],
  ['prose of 3,000 bytes leaves about 1,000 tokens of 2,040', 'x'.repeat(3000), 1070, 54],
  ['what may not fit is left to the endpoint', 'x'.repeat(3000), 700, 50],
  ['what cannot fit asks for one token', 'x'.repeat(9000), 700, 1],
])('caps what an endpoint is asked for: %s', async (_, content, contextWindow, expected) => {
  const asked: number[] = [];
  const inner = {
    complete(request: CompletionRequest) {
      asked.push(request.params.maxTokens);
      return Promise.reject(new Error('not of interest'));
    },
    close: async () => undefined,
  };

  await new ContextCap(inner, contextWindow).complete(requestOf(content)).catch(() => undefined);

  expect(asked).toEqual([Math.min(50, expected)]);
});
