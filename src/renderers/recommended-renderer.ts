import { DomainError } from '../core/errors';
import { RENDERER_NAMES, unknownRenderer } from './find-renderer';

interface Rule {
  /** Looked for in the model's name, without its owner. */
  readonly name: RegExp;
  /** Made for the model, the recommended one first. */
  readonly renderers: readonly string[];
}

/** Models by the beginning of their names; the first match wins. */
const RULES: readonly Rule[] = [
  { name: /^(everstep|tiny$)/i, renderers: ['everstep'] },
  { name: /-Base$/i, renderers: ['role_colon'] },
  { name: /^(Meta-)?Llama-3(\.\d)?-\d+B$/i, renderers: ['role_colon'] },
  { name: /^(Meta-)?Llama-3(\.\d)?-\d+B-Instruct/i, renderers: ['llama3'] },
  { name: /^Qwen3-[\w.]+(-A\w+)?-Instruct-2507/i, renderers: ['qwen3_instruct'] },
  { name: /^Qwen3-[\d.]+B(-A\w+)?$/i, renderers: ['qwen3', 'qwen3_disable_thinking'] },
  { name: /^Qwen3\.[56]-/i, renderers: ['qwen3_5', 'qwen3_5_disable_thinking'] },
  {
    name: /^Qwen3\.8-/i,
    renderers: [
      'qwen3_8_xhigh_reasoning',
      'qwen3_8_medium_reasoning',
      'qwen3_8_low_reasoning',
      'qwen3_8_disable_thinking',
    ],
  },
  {
    name: /^DeepSeek-V3\.1/i,
    renderers: ['deepseekv3', 'deepseekv3_disable_thinking', 'deepseekv3_thinking'],
  },
  {
    name: /^gpt-oss-/i,
    renderers: [
      'gpt_oss_no_sysprompt',
      'gpt_oss_low_reasoning',
      'gpt_oss_medium_reasoning',
      'gpt_oss_high_reasoning',
    ],
  },
  { name: /^Kimi-K2-Thinking/i, renderers: ['kimi_k2'] },
  { name: /^Kimi-K2\.5/i, renderers: ['kimi_k25', 'kimi_k25_disable_thinking'] },
  {
    name: /^Kimi-K2\.6/i,
    renderers: ['kimi_k26', 'kimi_k26_disable_thinking', 'kimi_k26_preserve_thinking'],
  },
  {
    name: /^NVIDIA-Nemotron-(3-Ultra|3\.5-Lightning)-/i,
    renderers: [
      'nemotron3_ultra',
      'nemotron3_ultra_disable_thinking',
      'nemotron3_ultra_medium_thinking',
      'nemotron3_ultra_preserve_thinking',
    ],
  },
  {
    name: /^NVIDIA-Nemotron-3-/i,
    renderers: [
      'nemotron3',
      'nemotron3_disable_thinking',
      'nemotron3_low_thinking',
      'nemotron3_preserve_thinking',
    ],
  },
];

/** Need nothing of the model but text, or bring its own template. */
const FIT_EVERY_MODEL = ['chat_template', 'role_colon'];

/** The renderer a model was trained with. A suffix such as `:peft:131072` is ignored. */
export function recommendedRendererFor(model: string): string {
  return renderersFor(model)[0] ?? 'chat_template';
}

/** Renderers made for a model, the recommended one first; none where its own chat template is all that is known. */
export function renderersFor(model: string): readonly string[] {
  const name = (model.split(':')[0] ?? '').split('/').at(-1) ?? '';
  return RULES.find((rule) => rule.name.test(name))?.renderers ?? [];
}

/**
 * Refuses an unknown renderer, and one made for another family. Base models were trained with none, and may learn any whose tokens they
 * have; so may models nobody knows. Missing tokens are found when the renderer is made.
 */
export function checkRendererFits(renderer: string, model: string): void {
  if (!RENDERER_NAMES.includes(renderer)) throw unknownRenderer(renderer);
  const fitting = renderersFor(model);
  const isTrainedWithOne = fitting.length > 0 && !fitting.includes('role_colon');
  if (!isTrainedWithOne || [...fitting, ...FIT_EVERY_MODEL].includes(renderer)) return;
  throw new DomainError(
    'bad-config',
    `Renderer "${renderer}" does not fit ${model}. Use ${fitting.join(', ')}, or chat_template.`,
  );
}
