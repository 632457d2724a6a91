import { DomainError } from '../../../core/errors';

/** The numbers that define a Llama-shaped decoder. */
export interface ModelShape {
  readonly vocabSize: number;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headWidth: number;
  readonly feedForward: number;
  readonly contextLength: number;
  readonly ropeTheta: number;
  readonly normEpsilon: number;
  /** The output head is the embedding table. */
  readonly tied: boolean;
}

export function keyWidth(shape: ModelShape): number {
  return shape.keyHeads * shape.headWidth;
}

/** Weights of a model of this shape. */
export function parameterCount(shape: ModelShape): number {
  const { vocabSize, width, layers, feedForward, tied } = shape;
  const attention = 2 * width * width + 2 * width * keyWidth(shape);
  const layer = attention + 3 * width * feedForward + 2 * width;
  return (tied ? 1 : 2) * vocabSize * width + layers * layer + width;
}

function wholeNumber(config: Readonly<Record<string, unknown>>, key: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
  throw new DomainError('bad-config', `config.json: "${key}" must be a positive whole number.`);
}

function positive(config: Readonly<Record<string, unknown>>, key: string, fallback: number): number {
  const value = config[key] ?? fallback;
  if (typeof value === 'number' && value > 0) return value;
  throw new DomainError('bad-config', `config.json: "${key}" must be a positive number.`);
}

/** Reads the fields of a Hugging Face `LlamaForCausalLM` config and refuses what the kernels cannot compute. */
export function parseModelShape(config: Readonly<Record<string, unknown>>): ModelShape {
  const width = wholeNumber(config, 'hidden_size');
  const heads = wholeNumber(config, 'num_attention_heads');
  const shape: ModelShape = {
    vocabSize: wholeNumber(config, 'vocab_size'),
    width,
    layers: wholeNumber(config, 'num_hidden_layers'),
    heads,
    keyHeads: wholeNumber(config, 'num_key_value_heads', heads),
    headWidth: wholeNumber(config, 'head_dim', width / heads),
    feedForward: wholeNumber(config, 'intermediate_size'),
    contextLength: wholeNumber(config, 'max_position_embeddings'),
    ropeTheta: positive(config, 'rope_theta', 10000),
    normEpsilon: positive(config, 'rms_norm_eps', 1e-5),
    tied: config['tie_word_embeddings'] === true,
  };
  refuseOtherArchitectures(config, shape);
  return shape;
}

function refuseOtherArchitectures(config: Readonly<Record<string, unknown>>, shape: ModelShape): void {
  const architecture = Array.isArray(config['architectures']) ? String(config['architectures'][0]) : 'none';
  if (architecture !== 'LlamaForCausalLM') {
    throw new DomainError(
      'bad-config',
      `config.json: architecture "${architecture}"; only LlamaForCausalLM can be run.`,
    );
  }
  const unsupported = ['rope_scaling', 'attention_bias', 'mlp_bias'].find((key) => Boolean(config[key]));
  if (unsupported !== undefined)
    throw new DomainError('bad-config', `config.json: "${unsupported}" is not supported.`);
  const { width, feedForward, vocabSize, headWidth, heads, keyHeads } = shape;
  const divisible = [width, feedForward, vocabSize, headWidth].every((size) => size % 8 === 0);
  if (divisible && heads * headWidth === width && heads % keyHeads === 0) return;
  throw new DomainError(
    'bad-config',
    'config.json: hidden_size, intermediate_size, vocab_size and the width of a head must be multiples of 8, and key heads must divide the heads.',
  );
}
