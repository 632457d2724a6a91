import { rmSync } from 'node:fs';
import { findRenderer } from '../../../../src/renderers/find-renderer';
import { loadTokenizer } from '../../../../src/renderers/tokenizers/load-tokenizer';
import { PACKAGED_MODELS, realModel, realModelsFolder, WITH_TEMPLATE } from '../real-models';

afterAll(() => {
  rmSync(realModelsFolder() ?? '', { recursive: true, force: true });
});

/** One more than the largest id of tokenizer.json (of gpt-oss the last tokens have no name); renderers made for the model. */
const MODELS: Readonly<
  Record<string, { readonly vocabSize: number; readonly renderers: readonly string[] }>
> = {
  'Qwen3-8B': { vocabSize: 151_669, renderers: ['qwen3', 'qwen3_disable_thinking', 'role_colon'] },
  'Qwen3-4B-Instruct-2507': { vocabSize: 151_669, renderers: ['qwen3_instruct'] },
  'Meta-Llama-3-8B-Instruct': { vocabSize: 128_256, renderers: ['llama3'] },
  'DeepSeek-V3.1': { vocabSize: 128_815, renderers: ['deepseekv3', 'deepseekv3_thinking'] },
  'gpt-oss-20b': { vocabSize: 200_019, renderers: ['gpt_oss_no_sysprompt', 'gpt_oss_medium_reasoning'] },
  'gemma-3-4b-it': { vocabSize: 262_145, renderers: ['role_colon'] },
};

test.each(PACKAGED_MODELS)('%s is read from its folder and trains a reply', async (name) => {
  const { vocabSize, renderers } = MODELS[name] ?? { vocabSize: 0, renderers: [] };
  const tokenizer = await loadTokenizer({ folder: realModel(name)?.folder ?? '' });
  const names = [...renderers, ...(WITH_TEMPLATE.includes(name) ? ['chat_template'] : [])];

  expect(tokenizer.vocabSize).toBe(vocabSize);
  expect(tokenizer.decode(tokenizer.encode('Grüße aus 東京, 1234567! 🦊'))).toBe(
    'Grüße aus 東京, 1234567! 🦊',
  );
  for (const one of names) {
    const renderer = findRenderer(one, tokenizer);
    const { tokens, weights } = renderer.buildSupervisedExample(
      [
        { role: 'user', content: 'How many legs has a fox?' },
        { role: 'assistant', content: 'Four legs.' },
      ],
      'lastAssistantMessage',
    );
    const said = tokens.filter((_, index) => weights[index] === 1);

    expect(tokenizer.decode(said)).toContain('Four legs.');
    expect(renderer.parseCompletion(said).termination).toBe('stop_sequence');
  }
});
