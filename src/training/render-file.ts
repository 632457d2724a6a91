import { existsSync } from 'node:fs';
import path from 'node:path';
import type { TemplateArguments } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import { streamJsonLines } from '../datasets/json-rows';
import { requireFile } from '../datasets/local-files';
import { findRenderer } from '../renderers/find-renderer';
import type { TokenizerAccess } from '../renderers/model-tokenizer';
import { tokenizerOf } from '../renderers/model-tokenizer';
import { recommendedRendererFor } from '../renderers/recommended-renderer';
import type { RenderSite } from './render-line';
import { renderLine } from './render-line';

export interface RenderRequest {
  /** A model's name, or the folder with its tokenizer. */
  readonly model: string;
  /** Default: the one recommended for the model. */
  readonly renderer?: string | undefined;
  readonly templateArguments?: TemplateArguments | undefined;
}

/** Tokenizers by the names of models, for those who may not load them themselves. */
export function tokenizersOf(access: TokenizerAccess): (model: string) => Promise<Tokenizer> {
  return (model) => tokenizerOf(model, access);
}

/** A renderer alone, with the tokenizer of its model. It need not be made for the model: tokens that it lacks are refused. */
export async function openRenderSite(request: RenderRequest, access: TokenizerAccess): Promise<RenderSite> {
  const { model, renderer = recommendedRendererFor(model), templateArguments } = request;
  const tokenizer = await tokenizerOf(folderOrName(model), access);
  return { tokenizer, renderer: findRenderer(renderer, tokenizer, templateArguments) };
}

/** Answers the lines of a JSONL file, in order. */
export async function* renderFile(file: string, site: RenderSite): AsyncGenerator<object> {
  await requireFile(file);
  for await (const raw of streamJsonLines(file, file)) {
    yield 'problem' in raw ? { error: raw.problem } : renderLine(raw.value, site);
  }
}

function folderOrName(model: string): string {
  const folder = path.resolve(model);
  if (['tokenizer.json', 'tiktoken.model'].some((file) => existsSync(path.join(folder, file)))) return folder;
  if (!path.isAbsolute(model) && !/^\.\.?([/\\]|$)/.test(model)) return model;
  throw new DomainError(
    'unknown-model',
    `--model ${model}: no folder with tokenizer.json or tiktoken.model. Give a model's folder, or its name on the hub.`,
  );
}
