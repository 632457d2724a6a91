import type { Message } from '../../../src/core/conversation';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

const tokenizer = new CharacterTokenizer();
const TRIMMED: readonly [name: string, roles: readonly string[]][] = [
  ['llama3', ['system', 'user', 'assistant']],
  ['qwen3_5', ['system', 'user', 'assistant']],
  ['qwen3_8_low_reasoning', ['system', 'user', 'assistant']],
];
const roles = TRIMMED.flatMap(([name, all]) => all.map((role) => [name, role] as const));

/** Space is what the templates' language takes for it: a byte order mark is none, separators of files and records are. */
test.each(roles)('%s trims the words of role %s as Python does', (name, role) => {
  const said = '\x1c\x85\x1f\ufeffwords\ufeff\x1d\x1e\u3000';
  const messages: Message[] = ['system', 'user', 'assistant'].map((one) => ({
    role: one,
    content: one === role ? said : 'a',
  }));
  const { tokens } = findRenderer(name, tokenizer).buildSupervisedExample(messages, 'allTokens');
  const text = tokenizer.decode(tokens);

  expect(text).toContain('\ufeffwords\ufeff<|');
  expect(text).not.toMatch(/[\x1c-\x1f\x85\u3000]/);
});
