import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { ChatTokenizer } from './tokenizers/hugging-face-tokenizer';
import { loadTokenizer } from './tokenizers/load-tokenizer';

export interface TokenizerAccess {
  /** Where files from the hub are kept. */
  readonly cacheFolder: string;
  /** For gated models. */
  readonly token?: string;
  /** A mirror of the hub. */
  readonly hubUrl?: string;
}

/** Models that ship with Everstep, beside the source and beside the build alike. */
const SHIPPED = new Map([['everstep/tiny', join(__dirname, '..', '..', 'models', 'everstep-tiny')]]);

/** Meta's own folders are gated. Their tokenizer is one and the same, and open here, where the official client takes it from too. */
const OPEN_TOKENIZERS: readonly (readonly [RegExp, string])[] = [
  [/^meta-llama\/Llama-3/, 'thinkingmachineslabinc/meta-llama-3-instruct-tokenizer'],
];

/** The tokenizer of a model: shipped, in a local folder, or on the hub. A suffix such as `:peft:131072` is no part of it. */
export async function tokenizerOf(name: string, access: TokenizerAccess): Promise<ChatTokenizer> {
  const model = isAbsolute(name) ? name : (name.split(':')[0] ?? '');
  const folder = localFolder(model);
  if (folder !== null) return loadTokenizer({ folder });
  return loadTokenizer({
    hub: OPEN_TOKENIZERS.find(([models]) => models.test(model))?.[1] ?? model,
    cacheFolder: access.cacheFolder,
    ...(access.token !== undefined && { token: access.token }),
    ...(access.hubUrl !== undefined && { hubUrl: access.hubUrl }),
  });
}

function localFolder(model: string): string | null {
  return SHIPPED.get(model) ?? (isAbsolute(model) && existsSync(model) ? model : null);
}
