import type { Message } from '../../../src/core/conversation';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from './character-tokenizer';

/** GLM's way: whoever speaks next ends a reply. */
const ENDLESS =
  '{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}';
/** No token at all between two messages. */
const TOKENLESS = ENDLESS.replaceAll('<|', '[').replaceAll('|>', ']');

function rendererOf(chatTemplate: string) {
  const tokenizer = Object.assign(new CharacterTokenizer(), {
    chatTemplate,
    source: 'model',
    longestToken: null,
  });
  return { tokenizer, renderer: findRenderer('chat_template', tokenizer) };
}

const twoTurns: Message[] = [
  { role: 'user', content: 'q' },
  { role: 'assistant', content: 'one' },
  { role: 'user', content: 'r' },
  { role: 'assistant', content: 'two' },
];

test('a template that writes nothing after a reply trains the marker that generation stops at, also after the last', () => {
  const { tokenizer, renderer } = rendererOf(ENDLESS);

  const { tokens, weights } = renderer.buildSupervisedExample(twoTurns, 'allAssistantMessages');
  const trained = tokens.filter((_, index) => weights[index] === 1);

  expect(tokenizer.decode(trained)).toBe('one<|user|>two<|user|>');
  expect(renderer.stopSequences()).toContain(trained.at(-1));
  expect(tokenizer.decode(renderer.buildGenerationPrompt(twoTurns.slice(0, 3)))).toBe(
    '<|user|>q<|assistant|>one<|user|>r<|assistant|>',
  );
  expect(renderer.parseCompletion(tokenizer.encode('two<|user|>', { allowSpecial: true }))).toMatchObject({
    message: { content: 'two' },
    termination: 'stop_sequence',
  });
});

test('a template without any token at the end of replies is refused with that reason', () => {
  const build = () => rendererOf(TOKENLESS).renderer.buildSupervisedExample(twoTurns, 'allAssistantMessages');

  expect(build).toThrow('writes no token at the end of a reply');
});

test('a template whose loops would not end is refused with the model', () => {
  const nested =
    '{% for a in range(100000) %}{% for b in range(100000) if a > b %}{% endfor %}{% endfor %}' + ENDLESS;

  expect(() => rendererOf(nested)).toThrow(
    /The chat template of "model" .*(its loops take more than 5000000 turns|it takes longer to write than any honest one)/,
  );
});

test('a template whose turns are few and long is refused with the model', () => {
  const slow =
    "{% set text = 'ab' * 1000000 %}{% for a in range(2000) %}{% set n = text | length %}{% endfor %}" +
    ENDLESS;

  expect(() => rendererOf(slow)).toThrow(
    /The chat template of "model" .*(it takes longer to write than any honest one|it makes more than 400000000 characters of texts and lists)\. Correct it in the model's folder/,
  );
});

test.each([
  ['{% set messages[0].x = 1 %}', /The chat template of "model" cannot be read: expected .*line 1/],
  [
    `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`,
    'The chat template of "model" cannot be read: it is nested too deep.',
  ],
  ['{% if 1 %}'.repeat(20_000), 'The chat template of "model" cannot be read: it is nested too deep.'],
])('what is no template is refused with the model: %#', (template, problem) => {
  expect(() => rendererOf(template)).toThrow(problem);
});
