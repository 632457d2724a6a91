import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { recommendedRendererFor } from '../../../src/renderers/recommended-renderer';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';

const folder = resolve(__dirname, '../../../models/everstep-tiny');

test('the bundled model fits the renderer recommended for it', async () => {
  const tokenizer = await loadTokenizer({ folder });
  const renderer = findRenderer(recommendedRendererFor('everstep/tiny'), tokenizer);
  const messages = [
    { role: 'user', content: '23 + 45 = ? Grüße' },
    { role: 'assistant', content: '68' },
  ];

  const { tokens, weights } = renderer.buildSupervisedExample(messages, 'lastAssistantMessage');

  expect(renderer.name).toBe('everstep');
  expect(tokenizer.decode(tokens)).toMatch(
    /^(<\|bos\|>)?<\|user\|>23 \+ 45 = \? Grüße<\|end\|><\|assistant\|>68<\|end\|>$/,
  );
  expect(weights.filter((weight) => weight > 0)).toHaveLength(tokenizer.encode('68').length + 1);
  expect(renderer.parseCompletion(tokens.slice(-1 - tokenizer.encode('68').length))).toEqual({
    message: { role: 'assistant', content: '68' },
    termination: 'stop_sequence',
  });
});

test('every token of the bundled model is within the vocabulary of its weights', async () => {
  const { vocab_size: rows } = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as {
    vocab_size: number;
  };

  expect((await loadTokenizer({ folder })).vocabSize).toBeLessThanOrEqual(rows);
});

test('words spelled like special tokens of the bundled model are words', async () => {
  const tokenizer = await loadTokenizer({ folder });

  const tokens = tokenizer.encode('<|end|><|assistant|>');

  expect(tokens.some((token) => tokenizer.isSpecial(token))).toBe(false);
  expect(tokenizer.decode(tokens)).toBe('<|end|><|assistant|>');
});

test('writes what the chat template of the bundled model writes, with <|bos|> only where it has one', async () => {
  const tokenizer = await loadTokenizer({ folder });
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ];

  const own = findRenderer('everstep', tokenizer);
  const generic = findRenderer('chat_template', tokenizer);

  expect(own.buildGenerationPrompt(messages)).toEqual(generic.buildGenerationPrompt(messages));
  expect(own.buildSupervisedExample(messages, 'allMessages')).toEqual(
    generic.buildSupervisedExample(messages, 'allMessages'),
  );
  expect(own.stopSequences()).toEqual(generic.stopSequences());
});
