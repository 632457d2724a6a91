interface Rule {
  /** Looked for in the model's name, without its owner. */
  readonly name: RegExp;
  readonly renderer: string;
}

/** First match wins. Models with a renderer of their own that we lack are rendered by their chat template. */
const RULES: readonly Rule[] = [
  { name: /^(everstep|tiny$)/i, renderer: 'everstep' },
  { name: /-Base$/i, renderer: 'role_colon' },
  { name: /^(Meta-)?Llama-3(\.\d)?-\d+B$/i, renderer: 'role_colon' },
  { name: /^(Meta-)?Llama-3(\.\d)?-\d+B-Instruct/i, renderer: 'llama3' },
  { name: /^Qwen3-[\w.]+(-A\w+)?-Instruct-2507/i, renderer: 'qwen3_instruct' },
  { name: /^Qwen3-[\d.]+B(-A\w+)?$/i, renderer: 'qwen3' },
];

/** The renderer a model was trained with. A suffix such as `:peft:131072` is ignored. */
export function recommendedRenderer(model: string): string {
  const name = (model.split(':')[0] ?? '').split('/').at(-1) ?? '';
  return RULES.find((rule) => rule.name.test(name))?.renderer ?? 'chat_template';
}
