/** Sampling parameters by the field's names; the defaults are the protocol's. */
export interface SamplingParams {
  readonly maxTokens: number;
  /** 0 is greedy. */
  readonly temperature: number;
  /** -1 switches it off. */
  readonly topK: number;
  readonly topP: number;
  readonly seed?: number;
  /** Texts or token ids; absent means end-of-text, an empty list means never. */
  readonly stop?: readonly string[] | readonly number[];
}

export interface SampleRequest {
  readonly prompt: readonly number[];
  readonly numSamples: number;
  readonly params: SamplingParams;
  readonly promptLogprobs?: boolean;
  /** How many of the likeliest tokens to name at each token of the prompt. */
  readonly topPromptLogprobs?: number;
  /** How many of the likeliest tokens to name at each token drawn. */
  readonly topSampledLogprobs?: number;
  /** Tokens to score in place of those of the prompt: row i at its token i + 1. A cell of -1 asks for nothing. */
  readonly promptTargets?: NumberTable<Int32Array>;
  /** How many tokens to draw in place of each token of the prompt but the first. */
  readonly promptAlternatives?: number;
}

/** Rows of numbers: every cell, or only the listed ones in compressed sparse rows. */
export interface NumberTable<Values extends Int32Array | Float32Array> {
  readonly rowCount: number;
  readonly columnCount: number;
  /** Row by row. */
  readonly values: Values;
  readonly sparse: {
    /** Where each row begins in `values`, and where the last one ends. */
    readonly rowStarts: Int32Array;
    /** The column of each value. */
    readonly columns: Int32Array;
  } | null;
}

/** Tokens with their log-probabilities, in rows of `width`. */
export interface TokenCells {
  readonly width: number;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
}

/** The log-probability of a cell that holds nothing, beside token 0, as the protocol has it. */
export const EMPTY_LOGPROB = -99_999;

export interface SampledSequence {
  /** Includes the stop token when one was drawn. */
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[] | null;
  readonly stopReason: 'stop' | 'length';
  /** A row a token: the likeliest tokens of the distribution that `logprobs` are of, likeliest first, ties by id. */
  readonly topLogprobs?: TokenCells;
}

export interface SampleResult {
  readonly sequences: readonly SampledSequence[];
  /** As long as the prompt; the first entry is null because nothing predicts it. */
  readonly promptLogprobs: readonly (number | null)[] | null;
  /** A row a token of the prompt, likeliest first, ties by id; the first is empty because nothing predicts it. */
  readonly topPromptLogprobs?: TokenCells;
  /** As `promptTargets` of the request; 0 where it had -1. */
  readonly promptTargetLogprobs?: NumberTable<Float32Array>;
  /** Row i: draws with replacement, at the request's temperature, in place of token i + 1; their scores are the prompt's. */
  readonly promptAlternatives?: TokenCells;
}

/** Draws completions from one fixed set of weights. */
export interface Sampler {
  sample(request: SampleRequest, options?: { readonly signal?: AbortSignal }): Promise<SampleResult>;
}
