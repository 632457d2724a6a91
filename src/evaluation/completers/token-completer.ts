import { untilAborted } from '../../core/concurrency/until-aborted';
import type {
  Completer,
  Completion,
  CompletionOptions,
  CompletionParams,
  CompletionRequest,
} from '../../core/completion';
import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import type { SampledSequence, Sampler, SamplingParams } from '../../core/sampling';
import type { Tokenizer } from '../../core/tokenizer';
import { renderWithTools } from '../../renderers/conversation-with-tools';
import { contextOverflow, encodePrompt } from '../../renderers/encode-prompt';
import type { ParsedReply, Renderer } from '../../renderers/renderer';
import { cutAtTexts } from './cut-at-texts';

export interface TokenCompleterOptions {
  readonly sampler: Sampler;
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  /** Tokens the model reads and writes together; null where nobody knows. */
  readonly contextLength: number | null;
  readonly close?: () => Promise<void>;
}

interface Drawing {
  readonly prompt: readonly number[];
  /** The client's. */
  readonly stop: readonly string[];
  readonly tools: CompletionRequest['tools'];
  readonly seconds: number;
}

/** Continues conversations with weights of a training service: rendered to tokens, sampled, read back as a message. */
export class TokenCompleter implements Completer {
  constructor(private readonly options: TokenCompleterOptions) {}

  async complete(request: CompletionRequest, options: CompletionOptions = {}): Promise<Completion> {
    const prompt = await encodePrompt(this.options, () => this.promptOf(request), options.signal);
    const params = this.paramsOf(request.params, prompt);
    const startedAt = performance.now();
    const sequence = await this.sample(prompt, params, options);
    const seconds = (performance.now() - startedAt) / 1000;
    return this.completionOf(
      { prompt, stop: request.params.stop ?? [], tools: request.tools, seconds },
      sequence,
    );
  }

  /** A conversation as the model reads it. */
  promptText(messages: readonly Message[]): string {
    return this.options.tokenizer.decode(this.options.renderer.buildGenerationPrompt(messages));
  }

  async close(): Promise<void> {
    await this.options.close?.();
  }

  private promptOf({ messages, tools }: CompletionRequest): number[] {
    const { renderer } = this.options;
    return renderWithTools(renderer, { messages, tools }, (conversation) =>
      renderer.buildGenerationPrompt(conversation),
    );
  }

  private paramsOf(params: CompletionParams, prompt: readonly number[]): SamplingParams {
    const { contextLength, renderer } = this.options;
    const { maxTokens, temperature, topP, seed, stop = [] } = params;
    const room = (contextLength ?? Infinity) - prompt.length;
    if (room <= 0) {
      throw contextOverflow(String(prompt.length), contextLength);
    }
    return {
      maxTokens: Math.min(maxTokens, room),
      temperature,
      topP,
      topK: -1,
      ...(seed !== undefined && { seed }),
      stop: stop.length === 0 ? renderer.stopSequences() : withTexts(renderer, stop),
    };
  }

  private async sample(
    prompt: readonly number[],
    params: SamplingParams,
    { signal, timeoutMs }: CompletionOptions,
  ): Promise<SampledSequence> {
    const callOff = new AbortController();
    const abort = () => {
      callOff.abort(signal?.reason);
    };
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort, { once: true });
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            callOff.abort(timedOut(timeoutMs));
          }, timeoutMs);
    try {
      const sampling = this.options.sampler.sample(
        { prompt, numSamples: 1, params },
        { signal: callOff.signal },
      );
      const { sequences } = await untilAborted(sampling, callOff.signal);
      const [sequence] = sequences;
      if (sequence) return sequence;
      throw new DomainError('protocol-error', 'The engine returned no completion.', { retryable: true });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  private completionOf({ prompt, stop, tools, seconds }: Drawing, sequence: SampledSequence): Completion {
    const { renderer, tokenizer } = this.options;
    const { tokens } = sequence;
    const cut = stop.length === 0 ? null : cutAtTexts(tokens, { texts: stop, tokenizer, renderer });
    const stopReason = cut ? 'stop' : sequence.stopReason;
    const reply = renderer.parseCompletion(cut?.tokens ?? tokens, tools);
    return {
      message: reply.message,
      rawText: cut?.rawText ?? tokenizer.decode(tokens),
      stopReason,
      ...(isMalformed(reply, stopReason) && { isMalformed: true }),
      promptTokenCount: prompt.length,
      completionTokenCount: tokens.length,
      seconds,
      tokens: { prompt, completion: tokens },
    };
  }
}

function isMalformed(
  { termination, unparsedToolCalls = [] }: ParsedReply,
  stopReason: SampledSequence['stopReason'],
): boolean {
  return unparsedToolCalls.length > 0 || (termination === 'malformed' && stopReason === 'stop');
}

function timedOut(timeoutMs: number): DomainError {
  return new DomainError('timed-out', `No completion came within ${timeoutMs / 1000} s.`);
}

/**
 * Stop tokens and stop texts cannot be asked for together. Where the model's own end of turn is a token it goes first, and the texts
 * are looked for when the completion is there.
 */
function withTexts(renderer: Renderer, stop: readonly string[]): readonly string[] | readonly number[] {
  const own = renderer.stopSequences();
  const texts = own.filter((sequence) => typeof sequence === 'string');
  return texts.length === own.length ? [...texts, ...stop] : own;
}
