import type { ToolDeclaration } from '../../core/completion';
import { DomainError } from '../../core/errors';
import type { SampledSequence } from '../../core/sampling';
import type { ParsedReply } from '../../renderers/renderer';
import type { TokenPrompt } from '../environments/environment-dataset';
import { boundedWork } from './bounded-work';
import { RolloutFailure, samplingFailure } from './rollout-failure';
import type { RolloutSite } from './rollout-site';

/** What the policy wrote in a turn, and what it reads as. */
export interface SampledAction {
  readonly prompt: readonly number[];
  readonly tokens: readonly number[];
  /** As the service gave them, but for the sign of 0. */
  readonly logprobs: readonly number[];
  readonly stopReason: 'stop' | 'length';
  readonly reply: ParsedReply;
}

export interface ActionRequest {
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly seed: number;
  /** Default: what ends a message. */
  readonly stop?: TokenPrompt['stop'];
  /** What the model was told of. */
  readonly tools?: readonly ToolDeclaration[];
}

export async function sampleAction(
  site: RolloutSite,
  { prompt, maxTokens, seed, stop = site.renderer.stopSequences(), tools }: ActionRequest,
  signal: AbortSignal,
): Promise<SampledAction> {
  const { temperature, renderer, limits } = site;
  const params = { maxTokens, temperature, topK: -1, topP: 1, seed, stop };
  const sequence = await drawSequence(
    (inner) => site.sampler.sample({ prompt, numSamples: 1, params }, { signal: inner }),
    { signal, timeoutSeconds: limits.samplingTimeoutSeconds },
  );
  const { tokens, stopReason } = sequence;
  const logprobs = site.computeLogprobs ? tokens.map(() => 0) : requiredLogprobs(sequence);
  return { prompt, tokens, logprobs, stopReason, reply: renderer.parseCompletion(tokens, tools) };
}

async function drawSequence(
  sample: (signal: AbortSignal) => ReturnType<RolloutSite['sampler']['sample']>,
  { signal, timeoutSeconds }: { readonly signal: AbortSignal; readonly timeoutSeconds: number | null },
): Promise<SampledSequence> {
  try {
    const { sequences } = await boundedWork(sample, {
      signal,
      timeoutMs: timeoutSeconds === null ? null : timeoutSeconds * 1000,
      late: () => new DomainError('timed-out', `no completion came within ${timeoutSeconds ?? 0} s`),
    });
    const [sequence] = sequences;
    if (sequence) return sequence;
    throw new DomainError('protocol-error', 'The engine returned no completion.', { retryable: true });
  } catch (error) {
    signal.throwIfAborted();
    throw samplingFailure(error);
  }
}

function requiredLogprobs({ tokens, logprobs }: SampledSequence): readonly number[] {
  // A negative zero would not survive being written as JSON.
  if (logprobs?.length === tokens.length && logprobs.every(Number.isFinite))
    return logprobs.map((each) => each + 0);
  const problem = `The engine gave ${logprobs?.filter(Number.isFinite).length ?? 0} finite log-probs for ${tokens.length} tokens.`;
  throw new RolloutFailure('sampling_error', new DomainError('protocol-error', problem));
}
