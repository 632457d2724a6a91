import type { EngineSource } from '../../../src/core/benchmark-run';
import { withFormat } from '../../../src/core/source-format';
import { promptFormatOf } from '../../../src/renderers/template-arguments';

const OWN: EngineSource = {
  ...{ type: 'engine', model: 'a/b', path: null, label: null },
  renderer: 'chat_template',
  templateArguments: { enable_thinking: false },
};

test.each([
  ['stays as it is', {}, { renderer: 'chat_template', templateArguments: { enable_thinking: false } }],
  [
    'takes other arguments',
    { templateArguments: { enable_thinking: true } },
    { renderer: 'chat_template', templateArguments: { enable_thinking: true } },
  ],
  ['leaves the arguments of another renderer', { renderer: 'qwen3' }, { renderer: 'qwen3' }],
])('a format that is asked for %s', (_, asked, expected) => {
  const { renderer, templateArguments, ...rest } = withFormat(OWN, asked);

  expect({ renderer, templateArguments }).toEqual({ templateArguments: undefined, ...expected });
  expect(rest).toEqual({ type: 'engine', model: 'a/b', path: null, label: null });
});

test('prompts of other arguments are other prompts, in whatever order they are written', () => {
  expect(promptFormatOf({ name: 'chat_template' })).toBe('chat_template');
  expect(promptFormatOf({ name: 'chat_template', templateArguments: {} })).toBe('chat_template');
  expect(promptFormatOf({ name: 'chat_template', templateArguments: { b: 1, a: 'x' } })).toBe(
    promptFormatOf({ name: 'chat_template', templateArguments: { a: 'x', b: 1 } }),
  );
  expect(promptFormatOf({ name: 'chat_template', templateArguments: { a: 'y' } })).not.toBe(
    promptFormatOf({ name: 'chat_template', templateArguments: { a: 'x' } }),
  );
});
