import { drawParams, streamSeed } from './choose-token';
import { cacheFloatsPerPosition } from './decode';
import { findTextStop } from './stop-conditions';
import type { SampleRequest, SampleResult } from '../../../core/sampling';
import type { DecodedTokens, DecodingSequence, PromptStretch } from './decode';
import type { Pointer } from './kernels';
import type { NetworkDescription } from './network';
import type { SharedHeap } from './shared-heap';
import type { Decode, StopConditions } from './stop-conditions';

/** Frozen weights in shared memory, packed for sampling. */
export interface PackedSampler {
  readonly network: NetworkDescription;
  readonly decode: Decode;
}

export interface SamplingTaskOptions {
  readonly sampler: PackedSampler;
  readonly request: SampleRequest;
  readonly stops: StopConditions;
  readonly seed: number;
}

interface Outcome {
  readonly resolve: (result: SampleResult) => void;
  readonly reject: (error: unknown) => void;
}

/** One sequence being drawn. */
export class SamplingSequence {
  readonly tokens: number[] = [];
  readonly logprobs: number[] = [];
  isStopped = false;

  constructor(
    readonly task: SamplingTask,
    readonly cache: Pointer,
    private readonly seed: number,
  ) {}

  get isDone(): boolean {
    return this.isStopped || this.tokens.length >= this.task.tokenLimit;
  }

  get state(): DecodingSequence {
    const { request, stops } = this.task.options;
    return {
      cache: this.cache,
      position: request.prompt.length - 1 + this.tokens.length,
      lastToken: this.tokens.at(-1) ?? request.prompt.at(-1) ?? 0,
      seed: this.seed,
      drawn: this.tokens.length,
      remaining: this.task.tokenLimit - this.tokens.length,
      stopTokens: stops.tokens,
      draw: drawParams(request.params),
    };
  }

  accept({ tokens, logprobs, isStopped }: DecodedTokens): void {
    const { sampler, stops } = this.task.options;
    this.tokens.push(...tokens);
    this.logprobs.push(...logprobs);
    this.isStopped = isStopped;
    const count = findTextStop(this.tokens, stops.texts, sampler.decode);
    if (count === null) return;
    this.tokens.length = count;
    this.logprobs.length = count;
    this.isStopped = true;
  }
}

/** One `sample` call on its way through the threads. */
export class SamplingTask {
  /** Tokens that fit: the last one drawn needs no place in the context. */
  readonly tokenLimit: number;
  readonly cacheFloats: number;
  sequences: readonly SamplingSequence[] = [];
  inFlight = 0;
  isSettled = false;
  private prefilled = 0;
  private readonly promptLogprobs: number[] = [];

  constructor(
    readonly options: SamplingTaskOptions,
    private readonly outcome: Outcome,
  ) {
    const { request, sampler } = options;
    const { shape } = sampler.network;
    const length = request.prompt.length;
    this.tokenLimit = Math.min(request.params.maxTokens, shape.contextLength - length + 1);
    this.cacheFloats = (length - 1 + Math.max(1, this.tokenLimit)) * cacheFloatsPerPosition(shape);
  }

  get isPrefilled(): boolean {
    return this.prefilled >= this.options.request.prompt.length - 1;
  }

  /** False, and nothing allocated, when there is not enough memory now. */
  reserve(heap: SharedHeap): boolean {
    const caches: Pointer[] = [];
    for (let sample = 0; sample < this.options.request.numSamples; sample++) {
      const cache = heap.tryAllocate(this.cacheFloats);
      if (cache === null) {
        for (const reserved of caches) heap.free(reserved);
        return false;
      }
      caches.push(cache);
    }
    this.sequences = caches.map(
      (cache, sample) => new SamplingSequence(this, cache, streamSeed(this.options.seed, sample)),
    );
    return true;
  }

  release(heap: SharedHeap): void {
    for (const { cache } of this.sequences) heap.free(cache);
    this.sequences = [];
  }

  /** The next part of the prompt, at most `limit` tokens. Its last token is left to the first draw. */
  nextStretch(limit: number): PromptStretch {
    const { prompt, promptLogprobs = false } = this.options.request;
    const start = this.prefilled;
    const end = Math.min(start + limit, prompt.length - 1);
    return {
      cache: this.sequences[0]?.cache ?? 0,
      start,
      tokens: prompt.slice(start, end),
      nextTokens: promptLogprobs ? prompt.slice(start + 1, end + 1) : null,
    };
  }

  acceptStretch(heap: SharedHeap, count: number, logprobs: readonly number[] | null): void {
    this.prefilled += count;
    if (logprobs !== null) this.promptLogprobs.push(...logprobs);
    if (!this.isPrefilled) return;
    const [first, ...others] = this.sequences;
    if (first === undefined) return;
    const floats = this.prefilled * cacheFloatsPerPosition(this.options.sampler.network.shape);
    for (const { cache } of others) heap.view(cache, floats).set(heap.view(first.cache, floats));
  }

  finishIfDone(): void {
    if (this.isSettled || !this.isPrefilled || !this.sequences.every(({ isDone }) => isDone)) return;
    this.isSettled = true;
    this.outcome.resolve({
      sequences: this.sequences.map(({ tokens, logprobs, isStopped }) => ({
        tokens,
        logprobs,
        stopReason: isStopped ? 'stop' : 'length',
      })),
      promptLogprobs: this.options.request.promptLogprobs === true ? [null, ...this.promptLogprobs] : null,
    });
  }

  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.outcome.reject(error);
  }
}
