import type { StoredTurn } from '../../../stores/eval-store';

/** Tokens of all requests of a sample, by Inspect's names. */
export interface TokenUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
}

/**
 * What every request read and wrote: the first prompt is counted by the turns that asked, those after it by the answers.
 * Results of earlier versions have the first alone.
 */
export function tokenUsage(turns: readonly StoredTurn[]): TokenUsage {
  let [input, output] = [0, 0];
  for (const { role, token_count: count, metadata } of turns) {
    if (role === 'user') input += count;
    if (role !== 'assistant') continue;
    const { prompt_tokens: prompt } = metadata;
    input += typeof prompt === 'number' ? prompt : 0;
    output += count;
  }
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}
