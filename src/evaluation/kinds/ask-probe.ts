import { DomainError } from '../../core/errors';
import type { Sampler, SampleResult } from '../../core/sampling';
import type { Continuation, Probe, ScoredSequence } from './kind';

/** Asks the model about one sequence. An engine that does not give what was asked for is refused, never scored as 0. */
export async function askProbe(sampler: Sampler, probe: Probe, signal: AbortSignal): Promise<ScoredSequence> {
  if (typeof probe.ask !== 'string') return write(sampler, probe, { ...probe.ask, signal });
  const { tokens, start, ask } = probe;
  // The protocol draws at least one token; only the prompt's scores are wanted.
  const params = { maxTokens: 1, temperature: 0, topK: -1, topP: 1, seed: 0 };
  const isLikeliest = ask === 'likeliest';
  const request = {
    prompt: tokens,
    numSamples: 1,
    params,
    ...(isLikeliest ? { topPromptLogprobs: 1 } : { promptLogprobs: true }),
  };
  const result = await sampler.sample(request, { signal });
  return isLikeliest
    ? { tokens, start, logprobs: null, likeliest: likeliestOf(result, probe) }
    : { tokens, start, logprobs: logprobsOf(result, probe) };
}

async function write(
  sampler: Sampler,
  { tokens, start }: Probe,
  { signal, maxTokens, temperature, topP, seed, stop }: Continuation & { readonly signal: AbortSignal },
): Promise<ScoredSequence> {
  const params = { maxTokens, temperature, topP, topK: -1, seed, ...(stop !== undefined && { stop }) };
  const { sequences } = await sampler.sample({ prompt: tokens, numSamples: 1, params }, { signal });
  const [sequence] = sequences;
  if (!sequence)
    throw new DomainError('protocol-error', 'The engine returned no completion.', { retryable: true });
  return { tokens: [...tokens, ...sequence.tokens], start, logprobs: sequence.logprobs };
}

function logprobsOf({ promptLogprobs }: SampleResult, { tokens, start }: Probe): number[] {
  if (promptLogprobs?.length !== tokens.length) throw lacking('prompt log-probs', promptLogprobs, tokens);
  return promptLogprobs.slice(start).map((logprob) => {
    if (logprob === null) throw lacking('prompt log-probs', promptLogprobs, tokens);
    return logprob;
  });
}

function likeliestOf({ topPromptLogprobs: cells }: SampleResult, { tokens, start }: Probe): number[] {
  const rows = cells === undefined || cells.width < 1 ? [] : rowsOf(cells.tokens, cells.width);
  if (rows.length !== tokens.length) throw lacking('likeliest tokens', rows, tokens);
  return rows.slice(start);
}

/** The first of each row. */
function rowsOf(cells: Int32Array, width: number): number[] {
  return Array.from({ length: cells.length / width }, (_, row) => cells[row * width] ?? 0);
}

function lacking(
  what: string,
  given: readonly unknown[] | null | undefined,
  tokens: readonly number[],
): DomainError {
  return new DomainError(
    'protocol-error',
    `The engine gave ${given?.length ?? 'no'} ${what} for ${tokens.length} tokens. Use an engine that scores prompts, or leave the task out.`,
  );
}
