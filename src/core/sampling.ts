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
}

export interface SampledSequence {
  /** Includes the stop token when one was drawn. */
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[] | null;
  readonly stopReason: 'stop' | 'length';
}

export interface SampleResult {
  readonly sequences: readonly SampledSequence[];
  /** As long as the prompt; the first entry is null because nothing predicts it. */
  readonly promptLogprobs: readonly (number | null)[] | null;
}

/** Draws completions from one fixed set of weights. */
export interface Sampler {
  sample(request: SampleRequest, options?: { readonly signal?: AbortSignal }): Promise<SampleResult>;
}
