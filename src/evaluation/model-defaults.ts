/** How much a model may write and read, and how long one example of it may take. */
export interface ModelDefaults {
  readonly maxTokens: number;
  /** Prompt and completion together; null where nothing is known. */
  readonly contextWindow: number | null;
  readonly timeoutSeconds: number;
  /** For people, where the model is not known; null where it is. */
  readonly warning: string | null;
}

export const DEFAULT_MAX_TOKENS = 32_768;
export const DEFAULT_TIMEOUT_SECONDS = 300;
/** Models that reason take longer. */
const REASONING_TIMEOUT_SECONDS = 1800;

/** Tokens of the context a training service gives each model, without a suffix. */
const CONTEXT_WINDOWS: Readonly<Record<string, number>> = {
  'Qwen/Qwen3.8-27B': 65_536,
  'Qwen/Qwen3.6-35B-A3B': 65_536,
  'Qwen/Qwen3.6-27B': 65_536,
  'Qwen/Qwen3.5-397B-A17B': 65_536,
  'Qwen/Qwen3.5-35B-A3B': 65_536,
  'Qwen/Qwen3.5-35B-A3B-Base': 65_536,
  'Qwen/Qwen3.5-9B': 65_536,
  'Qwen/Qwen3.5-9B-Base': 65_536,
  'Qwen/Qwen3.5-4B': 65_536,
  'Qwen/Qwen3-8B': 32_768,
  'deepseek-ai/DeepSeek-V3.1': 32_768,
  'nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16': 65_536,
  'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16': 65_536,
  'nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16': 65_536,
  'nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16': 65_536,
  'openai/gpt-oss-120b': 32_768,
  'openai/gpt-oss-20b': 32_768,
  'moonshotai/Kimi-K2.6': 32_768,
};

/** A service names the same weights with a longer context by its length. */
const LONG_CONTEXT = /^(.+):peft:(\d{3,9})$/;

/**
 * What to evaluate a model with. `:peft:262144` behind a name is its context; a model that is not known gets the
 * defaults and a warning, never an error.
 */
export function forModel(name: string): ModelDefaults {
  const [, base = name, suffix] = LONG_CONTEXT.exec(name) ?? [];
  const known = Object.hasOwn(CONTEXT_WINDOWS, base) ? CONTEXT_WINDOWS[base] : undefined;
  const contextWindow = suffix === undefined ? known : Number(suffix);
  if (known !== undefined && contextWindow !== undefined) {
    return {
      maxTokens: contextWindow,
      contextWindow,
      timeoutSeconds: REASONING_TIMEOUT_SECONDS,
      warning: null,
    };
  }
  return {
    maxTokens: Math.min(DEFAULT_MAX_TOKENS, contextWindow ?? Infinity),
    contextWindow: contextWindow ?? null,
    timeoutSeconds: DEFAULT_TIMEOUT_SECONDS,
    warning: `No defaults are known for model "${name}": at most ${DEFAULT_MAX_TOKENS} tokens, ${DEFAULT_TIMEOUT_SECONDS} seconds an example. Give --max-tokens and --timeout where it needs more.`,
  };
}
