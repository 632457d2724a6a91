/** Options as other tools of the field call them, and what they are called here. */
const SPELLINGS: Readonly<Record<string, string>> = {
  limit: '--max-examples N',
  max_examples: '--max-examples N',
  'num-examples': '--max-examples N',
  num_examples: '--max-examples N',
  'max-samples': '--max-examples (or --concurrency, if requests in flight are meant)',
  n: '--samples N',
  epochs: '--samples N',
  num_samples: '--samples N',
  'num-samples': '--samples N',
  numSamples: '--samples N',
  max_tokens: '--max-tokens N',
  maxTokens: '--max-tokens N',
  'max-new-tokens': '--max-tokens N',
  max_new_tokens: '--max-tokens N',
  max_gen_toks: '--max-tokens N',
  top_p: '--top-p P',
  context_window: '--context-window N',
  'max-connections': '--concurrency N',
  max_connections: '--concurrency N',
  batch_size: '--concurrency N',
  'batch-size': '--concurrency N',
  num_concurrent: '--concurrency N',
  system_prompt: '--system-prompt TEXT',
  system_instruction: '--system-prompt TEXT',
  'system-message': '--system-prompt TEXT',
  base_url: '--endpoint URL',
  'base-url': '--endpoint URL',
  'model-base-url': '--endpoint URL',
  'model-name': '--model NAME',
  model_name: '--model NAME',
  'model-path': '--checkpoint tinker://…',
  model_path: '--checkpoint tinker://…',
  renderer_name: '--renderer NAME',
  'time-limit': '--timeout SECONDS',
  output_path: '--output DIR',
  'log-dir': '--output DIR',
};

const NO_SHOTS = 'benchmarks are asked without shots (worked examples) here. Leave it out.';

/** What has no option here, and what to do instead. */
const REMEDIES: Readonly<Record<string, string>> = {
  task: 'write the name alone here: everstep eval NAME.',
  tasks: 'write the names alone here: everstep eval NAME NAME.',
  num_fewshot: NO_SHOTS,
  'num-fewshot': NO_SHOTS,
  fewshot: NO_SHOTS,
};

/** Every option of other tools, and what a person who gives it is told. */
export const ANSWERS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(SPELLINGS).map(
    ([spelling, option]) => [spelling, `--${spelling} is ${nameOf(option)} here.`] as const,
  ),
  ...Object.entries(REMEDIES).map(([spelling, remedy]) => [spelling, `--${spelling}: ${remedy}`] as const),
]);

/** An option as it is typed, its value left out. */
function nameOf(option: string): string {
  return option.replace(/ [A-Z]+$/, '');
}

/** What `--set` takes has the names of the library; that of an option is answered with the option. */
const OPTIONS: Readonly<Record<string, string>> = {
  samples: '--samples N, or --set numSamples=N',
  timeout: '--timeout SECONDS, or --set timeoutSeconds=S',
  run: '--run NAME',
  output: '--output DIR',
  store: '--store PLACE',
  judge: '--judge MODEL',
};

/** The option a key of `--set` is meant for; null where it is none that another tool knows. */
export function otherSpelling(key: string): string | null {
  // The option of another name goes before the library's own key of this one.
  const table = { ...SPELLINGS, ...OPTIONS };
  return key !== 'numSamples' && key !== 'maxTokens' && Object.hasOwn(table, key)
    ? (table[key] ?? null)
    : null;
}
