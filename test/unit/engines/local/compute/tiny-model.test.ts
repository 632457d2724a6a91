import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { tokenizeConversation } from '../../../../../scripts/tiny/conversation-tokens';
import { makeCorpus } from '../../../../../scripts/tiny/corpus';
import { allPairs, heldOut } from '../../../../../scripts/tiny/held-out';
import { makeArithmeticData } from '../../../../../scripts/tiny/make-arithmetic-data';
import { measureAccuracy } from '../../../../../scripts/tiny/measure-accuracy';
import { encodeText, tokenizerConfig, tokenizerJson } from '../../../../../scripts/tiny/tokenizer';
import type { Exchange } from '../../../../../scripts/tiny/corpus';
import { createModelRuntime } from '../../../../../src/engines/local/compute/create-model-runtime';
import { toValue } from '../../../../../src/renderers/jinja/json';
import { compileTemplate } from '../../../../../src/renderers/template-environment';

const ROOT = path.join(__dirname, '../../../../..');
const MODEL_FOLDER = path.join(ROOT, 'models/everstep-tiny');

function readText(...parts: string[]): string {
  return readFileSync(path.join(ROOT, ...parts), 'utf8');
}

function readModelJson(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(path.join(MODEL_FOLDER, name), 'utf8')) as Record<string, unknown>;
}

describe('the held-out rule', () => {
  test('keeps back about one pair in ten, whichever number comes first', () => {
    const pairs = allPairs();
    const share = pairs.filter(([a, b]) => heldOut(a, b)).length / pairs.length;

    expect(pairs.every(([a, b]) => heldOut(a, b) === heldOut(b, a))).toBe(true);
    expect(share).toBeGreaterThan(0.08);
    expect(share).toBeLessThan(0.12);
  });

  test('leaves pairs of every sum to train on', () => {
    const shownSums = new Set(
      allPairs()
        .filter(([a, b]) => !heldOut(a, b))
        .map(([a, b]) => a + b),
    );

    expect(shownSums.size).toBe(199);
  });
});

test('the arithmetic data are every pair once, the held-out ones in test only, as committed', () => {
  const data = makeArithmeticData();
  const questions = [...data.train.matchAll(/"content":"(\d+\+\d+)="/g)].map((match) => match[1]);
  const heldOutQuestions = [...data.test.matchAll(/"content":"(\d+\+\d+)="/g)].map((match) => match[1]);

  expect(new Set([...questions, ...heldOutQuestions]).size).toBe(10_000);
  expect(questions.length + heldOutQuestions.length).toBe(10_000);
  for (const question of heldOutQuestions) {
    const [a = 0, b = 0] = question?.split('+').map(Number) ?? [];
    expect(heldOut(a, b)).toBe(true);
  }
  expect(readText('data/arithmetic/train.jsonl')).toBe(data.train);
  expect(readText('data/arithmetic/test.jsonl')).toBe(data.test);
});

/** The pair and answer of an exchange about a sum or a difference; null for other exchanges. */
function readSum({ user, assistant }: Exchange): { pair: [number, number]; isRight: boolean } | null {
  const [first, second] = [...user.matchAll(/\d+/g)].map(Number);
  if (first === undefined || second === undefined || !/plus|add|sum|minus/i.test(user)) return null;
  const isDifference = user.includes('minus');
  return {
    pair: isDifference ? [second, first - second] : [first, second],
    isRight: Number(assistant) === (isDifference ? first - second : first + second),
  };
}

test('the corpus shows no held-out sum in any wording, nor any sum in signs', () => {
  const corpus = makeCorpus(1);
  const exchanges = Array.from({ length: 30_000 }, () => corpus.next().value.exchanges).flat();
  const sums = exchanges.map(readSum).filter((sum) => sum !== null);

  expect(sums.length).toBeGreaterThan(10_000);
  expect(sums.filter(({ pair, isRight }) => heldOut(...pair) || !isRight)).toEqual([]);
  expect(exchanges.filter(({ user, assistant }) => /\d\s*[-+=]\s*\d/.test(`${user} ${assistant}`))).toEqual(
    [],
  );
});

describe('the tokenizer of everstep/tiny', () => {
  const tokenizer = new Tokenizer(readModelJson('tokenizer.json'), readModelJson('tokenizer_config.json'));

  test('is the one the training script writes', () => {
    expect(readModelJson('tokenizer.json')).toEqual(tokenizerJson());
    expect(readModelJson('tokenizer_config.json')).toEqual(tokenizerConfig(256));
  });

  test.each(['37+58=', 'Hello, world!\n', ' two  spaces ', 'naïve 水 🙂'])(
    'gives %j one token a byte and back',
    (text) => {
      const ids = tokenizer.encode(text, { add_special_tokens: false }).ids.map(Number);

      expect(ids).toEqual(encodeText(text));
      expect(tokenizer.decode(ids, { skip_special_tokens: false })).toBe(text);
    },
  );

  test('writes conversations as the model was trained on them', () => {
    const template = compileTemplate(String(readModelJson('tokenizer_config.json')['chat_template']));
    const messages = [
      { role: 'system', content: 'Answer briefly.' },
      { role: 'user', content: '37+58=' },
      { role: 'assistant', content: '95' },
    ];
    const text = template({ messages: toValue(messages), add_generation_prompt: false });
    const prompt = template({ messages: toValue(messages.slice(0, 2)), add_generation_prompt: true });

    const { tokens } = tokenizeConversation({
      system: 'Answer briefly.',
      exchanges: [{ user: '37+58=', assistant: '95' }],
    });
    expect(text).toBe('<|system|>Answer briefly.<|end|><|user|>37+58=<|end|><|assistant|>95<|end|>');
    expect(prompt).toBe('<|system|>Answer briefly.<|end|><|user|>37+58=<|end|><|assistant|>');
    expect(tokenizer.encode(text, { add_special_tokens: false }).ids).toEqual(tokens);
  });
});

test('everstep/tiny adds held-out pairs asked in words, and not yet in signs', async () => {
  const runtime = await createModelRuntime({ threads: 2, memoryMegabytes: 256 });
  const sampler = await runtime.createSampler({ baseModel: 'everstep/tiny', lora: null, weights: null });
  const pairs = allPairs().filter(([a, b]) => heldOut(a, b));
  const ask = (wording: (a: number, b: number) => string) =>
    measureAccuracy(
      sampler,
      pairs.slice(0, 300).map(([a, b]) => ({ user: wording(a, b), assistant: String(a + b) })),
    );

  const inWords = await ask((a, b) => `What is ${a} plus ${b}?`);
  const inSigns = await ask((a, b) => `${a}+${b}=`);
  await runtime.close();

  expect(inWords).toBeGreaterThan(0.95);
  expect(inSigns).toBeLessThan(0.4);
});
