import type { TemplateArguments } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import { createChatTemplateRenderer } from './chat-template';
import { deepSeekV3Format } from './families/deepseek-v3';
import { everstepFormat } from './families/everstep';
import { gptOssFormat } from './families/gpt-oss';
import { KIMI_FORMATS } from './families/kimi-k2';
import { llama3Format } from './families/llama3';
import { nemotron3Format } from './families/nemotron3';
import { qwen3Format } from './families/qwen3';
import { qwen35Format, qwen38Format } from './families/qwen3-5';
import { roleColonFormat } from './families/role-colon';
import type { MessageFormat } from './message-format';
import { createMessageRenderer } from './message-renderer';
import type { Renderer } from './renderer';
import { checkTemplateArguments } from './template-arguments';

type Builder = (tokenizer: Tokenizer, templateArguments?: TemplateArguments) => Renderer;

const FORMATS: readonly MessageFormat[] = [
  qwen3Format('qwen3'),
  qwen3Format('qwen3_disable_thinking'),
  qwen3Format('qwen3_instruct'),
  qwen35Format('qwen3_5'),
  qwen35Format('qwen3_5_disable_thinking'),
  qwen38Format('xhigh'),
  qwen38Format('medium'),
  qwen38Format('low'),
  qwen38Format(null),
  deepSeekV3Format('deepseekv3'),
  deepSeekV3Format('deepseekv3_disable_thinking'),
  deepSeekV3Format('deepseekv3_thinking'),
  ...KIMI_FORMATS,
  nemotron3Format('nemotron3', 'thinking'),
  nemotron3Format('nemotron3', 'low'),
  nemotron3Format('nemotron3', 'disabled'),
  nemotron3Format('nemotron3', 'preserved'),
  nemotron3Format('nemotron3_ultra', 'thinking'),
  nemotron3Format('nemotron3_ultra', 'medium'),
  nemotron3Format('nemotron3_ultra', 'disabled'),
  nemotron3Format('nemotron3_ultra', 'preserved'),
  gptOssFormat(null),
  gptOssFormat('low'),
  gptOssFormat('medium'),
  gptOssFormat('high'),
];

const builders = new Map<string, Builder>([
  ['everstep', (tokenizer) => createMessageRenderer(everstepFormat(tokenizer), tokenizer)],
  ['role_colon', (tokenizer) => createMessageRenderer(roleColonFormat(tokenizer.bosToken), tokenizer)],
  ['llama3', (tokenizer) => createMessageRenderer(llama3Format(tokenizer), tokenizer)],
  ...FORMATS.map((format): [string, Builder] => [
    format.name,
    (tokenizer) => createMessageRenderer(format, tokenizer),
  ]),
  ['chat_template', createChatTemplateRenderer],
]);

export const RENDERER_NAMES: readonly string[] = [...builders.keys()];

/** Unknown names are refused with the names that exist; a tokenizer that does not fit is refused with its missing tokens. */
export function findRenderer(
  name: string,
  tokenizer: Tokenizer,
  templateArguments?: TemplateArguments,
): Renderer {
  const build = builders.get(name);
  if (!build) throw unknownRenderer(name);
  checkTemplateArguments(name, templateArguments);
  return build(tokenizer, templateArguments);
}

export function unknownRenderer(name: string): DomainError {
  return new DomainError(
    'unknown-renderer',
    `Unknown renderer "${name}". Known: ${RENDERER_NAMES.join(', ')}.`,
  );
}
