import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { userError } from './check-request';
import type { SamplingParams } from '../../../core/sampling';
import type { FoundModel } from './base-model';

/** When a completion ends: at one of these tokens, or once its text holds one of these texts. */
export interface StopConditions {
  readonly tokens: readonly number[];
  readonly texts: readonly string[];
}

export type Decode = (tokens: readonly number[]) => string;

/** Reads the tokenizer of a model the first time a text has to be decoded. */
export function createDecode(folder: string): Decode {
  let tokenizer: Tokenizer | null = null;
  return (tokens) => {
    tokenizer ??= loadTokenizer(folder);
    return tokenizer.decode([...tokens], { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  };
}

function loadTokenizer(folder: string): Tokenizer {
  const read = (name: string): object => {
    const value: unknown = JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
    return typeof value === 'object' && value !== null ? value : {};
  };
  return new Tokenizer(read('tokenizer.json'), read('tokenizer_config.json'));
}

/**
 * The model's end-of-text tokens and what is named besides; an empty list means never. The service, too, ends at the
 * end-of-text where only a text is named (thinking-machines-lab/tinker-cookbook pull request 339).
 */
export function resolveStops(stop: SamplingParams['stop'], model: FoundModel): StopConditions {
  if (stop === undefined) return { tokens: model.eosTokens, texts: [] };
  if (stop.length === 0) return { tokens: [], texts: [] };
  const tokens = [...model.eosTokens];
  const texts: string[] = [];
  for (const item of stop) {
    if (typeof item === 'number') tokens.push(item);
    else if (item === '') throw userError('A stop text is empty. Leave it out, or name a text.');
    else texts.push(item);
  }
  return { tokens, texts };
}

/** How many tokens there are when the text first holds one of the stop texts; null when it does not. */
export function findTextStop(
  tokens: readonly number[],
  texts: readonly string[],
  decode: Decode,
): number | null {
  const holdsStop = (count: number): boolean => {
    const text = decode(tokens.slice(0, count));
    return texts.some((stop) => text.includes(stop));
  };
  // A quantum may end before the first token, and tokenizers do not decode nothing.
  if (texts.length === 0 || tokens.length === 0 || !holdsStop(tokens.length)) return null;
  let count = 1;
  while (!holdsStop(count)) count++;
  return count;
}
