import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../../core/errors';
import { fetchTokenizerFiles } from './hub-files';
import type { HubTokenizerSource } from './hub-files';
import { createTokenizer } from './create-tokenizer';
import type { FilesOfTokenizer } from './create-tokenizer';
import { EncodingThread } from './encoding-thread';
import type { ChatTokenizer } from './hugging-face-tokenizer';
import { TurnTakingTokenizer } from './turn-taking-tokenizer';

/** The largest tokenizers have a sixth of it. */
const MOST_MIB = 256;

export type TokenizerSource = { readonly folder: string } | HubTokenizerSource;

/** Reads `tokenizer.json`, else `tiktoken.model`, and beside it `tokenizer_config.json` and `chat_template.jinja` where they exist. */
export async function loadTokenizer(source: TokenizerSource): Promise<ChatTokenizer> {
  const folder = 'hub' in source ? await fetchTokenizerFiles(source) : source.folder;
  const definitionText = await readOptional(folder, 'tokenizer.json');
  const ranks = definitionText === null ? await readOptional(folder, 'tiktoken.model') : null;
  const configText = await readOptional(folder, 'tokenizer_config.json');
  const shared = {
    config: configText === null ? {} : parseObject(configText, join(folder, 'tokenizer_config.json')),
    chatTemplate: await readOptional(folder, 'chat_template.jinja'),
    source: 'hub' in source ? source.hub : source.folder,
  };
  if (ranks !== null) return takingTurns({ ranks, ...shared });
  if (definitionText === null) {
    throw new DomainError(
      'unknown-model',
      `Folder "${folder}" has no tokenizer.json or tiktoken.model. Name the folder of a model with one, or a model on the hub that has it.`,
    );
  }
  const definition = parseObject(definitionText, join(folder, 'tokenizer.json'));
  return takingTurns({ definition, ...shared });
}

function takingTurns(files: FilesOfTokenizer): ChatTokenizer {
  return new TurnTakingTokenizer(createTokenizer(files), new EncodingThread(files));
}

/** Whoever opens a pipe waits for its writer, and a device has no end. */
async function readOptional(folder: string, name: string): Promise<string | null> {
  const path = join(folder, name);
  try {
    const stats = await stat(path);
    if (stats.isFile() && stats.size <= MOST_MIB * 1024 * 1024) return await readFile(path, 'utf8');
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT')
      return null;
    throw new DomainError('unknown-model', `Cannot read ${path}: ${String(error)}. Check its permissions.`, {
      cause: error,
    });
  }
  throw new DomainError(
    'unknown-model',
    `Cannot read ${path}: it is no plain file of at most ${MOST_MIB} MiB. Put the model's own file there.`,
  );
}

function parseObject(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DomainError('unknown-model', `${path} is not valid JSON. Fetch the model's files again.`, {
      cause: error,
    });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new DomainError(
    'unknown-model',
    `${path} does not hold a JSON object. Fetch the model's files again.`,
  );
}
