import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import { createChatTemplateRenderer } from './chat-template';
import { everstepFormat } from './everstep';
import { llama3Format } from './llama3';
import type { MessageFormat } from './message-format';
import { createMessageRenderer } from './message-renderer';
import { qwen3Format } from './qwen3';
import type { Renderer } from './renderer';
import { roleColonFormat } from './role-colon';

const BUILDERS = {
  everstep: (tokenizer: Tokenizer) => createMessageRenderer(everstepFormat(tokenizer), tokenizer),
  role_colon: (tokenizer: Tokenizer) => createMessageRenderer(roleColonFormat(tokenizer.bosToken), tokenizer),
  llama3: fromFormat(llama3Format),
  qwen3: fromFormat(qwen3Format('qwen3')),
  qwen3_disable_thinking: fromFormat(qwen3Format('qwen3_disable_thinking')),
  qwen3_instruct: fromFormat(qwen3Format('qwen3_instruct')),
  chat_template: createChatTemplateRenderer,
} satisfies Record<string, (tokenizer: Tokenizer) => Renderer>;

const builders = new Map<string, (tokenizer: Tokenizer) => Renderer>(Object.entries(BUILDERS));

export const RENDERER_NAMES: readonly string[] = [...builders.keys()];

/** Unknown names are refused with the names that exist; a tokenizer that does not fit is refused with its missing tokens. */
export function findRenderer(name: string, tokenizer: Tokenizer): Renderer {
  const build = builders.get(name);
  if (build) return build(tokenizer);
  throw new DomainError(
    'unknown-renderer',
    `Unknown renderer "${name}". Known: ${RENDERER_NAMES.join(', ')}.`,
  );
}

function fromFormat(format: MessageFormat): (tokenizer: Tokenizer) => Renderer {
  return (tokenizer) => createMessageRenderer(format, tokenizer);
}
