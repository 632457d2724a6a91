import path from 'node:path';
import { inTurns, TooManyTokens } from '../../../../src/core/tokenizer';
import type { Tokenizer } from '../../../../src/core/tokenizer';
import { findRenderer } from '../../../../src/renderers/find-renderer';
import { createTokenizer } from '../../../../src/renderers/tokenizers/create-tokenizer';
import type { ChatTokenizer } from '../../../../src/renderers/tokenizers/hugging-face-tokenizer';
import { loadTokenizer } from '../../../../src/renderers/tokenizers/load-tokenizer';
import { TurnTakingTokenizer } from '../../../../src/renderers/tokenizers/turn-taking-tokenizer';
import { byteTokenizerDefinition } from '../byte-tokenizer-files';

const TINY = path.join(__dirname, '../../../../models/everstep-tiny');
const MEGABYTE = 1_000_000;

/** Notes what is encoded at once, and what elsewhere. */
function observed() {
  const inner = byteTokenizer();
  const atOnce: number[] = [];
  const elsewhere: number[] = [];
  const watched: ChatTokenizer = Object.assign(Object.create(inner) as ChatTokenizer, {
    encode(text: string, options?: { readonly allowSpecial?: boolean }) {
      atOnce.push(text.length);
      return inner.encode(text, options);
    },
  });
  const tokenizer = new TurnTakingTokenizer(watched, {
    encode: async ({ text, allowSpecial }) => {
      elsewhere.push(text.length);
      return inner.encode(text, { allowSpecial });
    },
  });
  return { inner, tokenizer, atOnce, elsewhere };
}

function byteTokenizer(): ChatTokenizer {
  return createTokenizer({
    definition: byteTokenizerDefinition(),
    config: {},
    chatTemplate: null,
    source: 'bytes',
  });
}

/** How often others had their turn while something was done. */
async function turnsDuring<Result>(work: Promise<Result>): Promise<{ result: Result; turnCount: number }> {
  let turnCount = 0;
  let isOver = false;
  const count = () => {
    turnCount += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const result = await work.finally(() => {
    isOver = true;
  });
  return { result, turnCount };
}

function conversation(text: string) {
  return [{ role: 'user', content: text }];
}

test('does not encode a text that has too many tokens by its length', async () => {
  const { tokenizer, atOnce, elsewhere } = observed();

  const encoding = inTurns(tokenizer, () => tokenizer.encode('x'.repeat(MEGABYTE)), { mostTokens: 1000 });

  await expect(encoding).rejects.toEqual(new TooManyTokens(Math.ceil(MEGABYTE / '<|assistant|>'.length)));
  expect([...atOnce, ...elsewhere]).toEqual([]);
});

test('refuses nothing that fits', async () => {
  const { tokenizer } = observed();
  const longest = '<|assistant|>';

  const tokens = await inTurns(
    tokenizer,
    () => tokenizer.encode(longest.repeat(1000), { allowSpecial: true }),
    {
      mostTokens: 1000,
    },
  );

  expect(tokens).toHaveLength(1000);
});

test('encodes only what is of use of a text that may be cut', async () => {
  const { inner, tokenizer, atOnce, elsewhere } = observed();
  const text = 'hehe 🌍 '.repeat(MEGABYTE);

  const tokens = await inTurns(tokenizer, () => tokenizer.encode(text), {
    mostTokens: 500,
    isCutAllowed: true,
  });

  expect(tokens.length).toBeGreaterThan(500);
  expect(tokens.slice(0, 500)).toEqual(inner.encode(text.slice(0, 100_000)).slice(0, 500));
  expect(Math.max(...atOnce, ...elsewhere)).toBeLessThan(100_000);
});

test('encodes a large text of a conversation elsewhere, and the rest of it at once', async () => {
  const { inner, tokenizer, atOnce, elsewhere } = observed();
  const messages = conversation('hello '.repeat(50_000));
  const renderer = findRenderer('role_colon', tokenizer);
  atOnce.length = 0;

  const tokens = await inTurns(tokenizer, () => renderer.buildGenerationPrompt(messages));

  expect(tokens).toEqual(findRenderer('role_colon', inner).buildGenerationPrompt(messages));
  expect(elsewhere).toHaveLength(1);
  expect(Math.max(...atOnce)).toBeLessThan(1000);
});

test('encodes many texts in turns, each of them once', async () => {
  const { tokenizer, atOnce, elsewhere } = observed();
  const texts = Array.from({ length: 100 }, (_, index) => `${index} ${'hello '.repeat(2000)}`);

  const { turnCount } = await turnsDuring(
    inTurns(tokenizer, () => texts.map((text) => tokenizer.encode(text).length)),
  );

  expect(atOnce).toEqual(texts.map(({ length }) => length));
  expect(elsewhere).toEqual([]);
  expect(turnCount).toBeGreaterThanOrEqual(10);
});

test('others have their turns while a model of ours encodes a megabyte, in the same tokens', async () => {
  const tokenizer: Tokenizer = await loadTokenizer({ folder: TINY });
  const text = 'What is 6 times 7? 42. Grüße! '.repeat(10_000);

  const { result, turnCount } = await turnsDuring(inTurns(tokenizer, () => tokenizer.encode(text)));

  expect(result).toEqual(tokenizer.encode(text));
  expect(turnCount).toBeGreaterThan(10);
});

test('hands on what is wrong with a text', async () => {
  const { inner } = observed();
  const refusal = new Error('no such character');
  const tokenizer = new TurnTakingTokenizer(inner, { encode: () => Promise.reject(refusal) });

  await expect(inTurns(tokenizer, () => tokenizer.encode('x'.repeat(MEGABYTE)))).rejects.toBe(refusal);
  expect(tokenizer.encode('he')).toEqual([256]);
});

test('stops waiting when it is called off', async () => {
  const { inner } = observed();
  const tokenizer = new TurnTakingTokenizer(inner, { encode: () => new Promise(() => undefined) });
  const caller = new AbortController();

  const encoding = inTurns(tokenizer, () => tokenizer.encode('x'.repeat(MEGABYTE)), {
    signal: caller.signal,
  });
  caller.abort(new Error('called off'));

  await expect(encoding).rejects.toThrow('called off');
});
