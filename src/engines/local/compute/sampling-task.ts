import { drawParams, streamSeed } from './choose-token';
import { cacheFloatsPerPosition } from './forward';
import { joinCells, PromptScores } from './sampling-prompt-scores';
import { findTextStop } from './stop-conditions';
import type { SampledSequence, SampleRequest, SampleResult, TokenCells } from '../../../core/sampling';
import type { DecodedTokens, DecodingSequence, PromptStretch } from './decode';
import type { Pointer } from './kernels';
import type { NetworkDescription } from './network';
import type { StretchScores } from './sampling-scores';
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
  private readonly top: TokenCells[] = [];

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
      prompt: this.task.isPrefilled ? [] : request.prompt.slice(0, -1),
      position: request.prompt.length - 1 + this.tokens.length,
      lastToken: this.tokens.at(-1) ?? request.prompt.at(-1) ?? 0,
      seed: this.seed,
      drawn: this.tokens.length,
      remaining: this.task.tokenLimit - this.tokens.length,
      stopTokens: stops.tokens,
      draw: drawParams(request.params),
      topCount: request.topSampledLogprobs ?? 0,
    };
  }

  get result(): SampledSequence {
    const { tokens, logprobs, isStopped } = this;
    const width = this.task.options.request.topSampledLogprobs ?? 0;
    return {
      tokens,
      logprobs,
      stopReason: isStopped ? 'stop' : 'length',
      ...(width > 0 && { topLogprobs: joinCells(this.top, width) }),
    };
  }

  accept({ isPrefilled, tokens, logprobs, isStopped, top }: DecodedTokens): void {
    if (isPrefilled) this.task.acceptPrompt();
    const { sampler, stops } = this.task.options;
    for (const token of tokens) this.tokens.push(token);
    for (const logprob of logprobs) this.logprobs.push(logprob);
    for (const cells of top) this.top.push(cells);
    this.isStopped = isStopped;
    const count = findTextStop(this.tokens, stops.texts, sampler.decode);
    if (count === null) return;
    this.tokens.length = count;
    this.logprobs.length = count;
    this.top.length = Math.min(this.top.length, count);
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
  private readonly scores: PromptScores;

  constructor(
    readonly options: SamplingTaskOptions,
    private readonly outcome: Outcome,
  ) {
    const { request, sampler } = options;
    this.scores = new PromptScores(request, options.seed);
    const { shape } = sampler.network;
    const length = request.prompt.length;
    this.tokenLimit = Math.min(request.params.maxTokens, shape.contextLength - length + 1);
    this.cacheFloats = (length - 1 + Math.max(1, this.tokenLimit)) * cacheFloatsPerPosition(shape);
  }

  get hasStopTexts(): boolean {
    return this.options.stops.texts.length > 0;
  }

  get isPrefilled(): boolean {
    return this.prefilled >= this.options.request.prompt.length - 1;
  }

  /** Whether the prompt may travel with the first draw: nobody shares it or asks for its scores, and it is short. */
  drawsAtOnce(mostPromptRows: number): boolean {
    const { prompt, numSamples } = this.options.request;
    const length = prompt.length - 1;
    const isOne = numSamples === 1 && this.tokenLimit > 0 && length <= mostPromptRows;
    return this.isPrefilled || (isOne && this.scores.wanted(0, length) === null);
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
    const { prompt } = this.options.request;
    const start = this.prefilled;
    const end = Math.min(start + limit, prompt.length - 1);
    return {
      cache: this.sequences[0]?.cache ?? 0,
      start,
      tokens: prompt.slice(start, end),
      scoring: this.scores.wanted(start, end),
    };
  }

  /** The prompt travelled with a draw. */
  acceptPrompt(): void {
    this.prefilled = this.options.request.prompt.length - 1;
  }

  acceptStretch(heap: SharedHeap, count: number, scores: StretchScores | null): void {
    if (scores !== null) this.scores.accept(scores);
    this.prefilled += count;
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
      sequences: this.sequences.map(({ result }) => result),
      ...this.scores.result(),
    });
  }

  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.outcome.reject(error);
  }
}
