/** Keys of `metrics.jsonl`, `area/name`; the documentation maps them to the field's names. */
export const METRIC_KEYS = {
  /** Mean negative log-likelihood of the batch, weighted as the loss is; null when nothing carries weight. */
  nll: 'train/nll',
  /** Bits per byte of the text that carries loss. */
  bitsPerByte: 'train/bpb',
  /** Tokens the model read. */
  tokens: 'train/tokens',
  /** Sum of the loss weights. */
  lossTokens: 'train/loss_tokens',
  sequences: 'train/sequences',
  learningRate: 'optim/lr',
  /** Optimizer updates done. */
  updates: 'optim/updates',
  gradientNorm: 'optim/grad_norm',
  epoch: 'progress/epoch',
  doneFraction: 'progress/done_frac',
} as const;
