import type { SampledSequence, SampleResult, TokenCells } from '../../../core/sampling';

/** JSON has no typed arrays. */
interface StoredCells {
  readonly width: number;
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
}

type StoredSequence = Omit<SampledSequence, 'topLogprobs'> & { readonly topLogprobs?: StoredCells };

/** The part of an answer that the gateway reads, as a row of a journal. */
export interface StoredAnswer {
  readonly sequences: readonly StoredSequence[];
  readonly promptLogprobs: SampleResult['promptLogprobs'];
  readonly topPromptLogprobs?: StoredCells;
}

export function storedAnswer({ sequences, promptLogprobs, topPromptLogprobs }: SampleResult): StoredAnswer {
  return {
    sequences: sequences.map(({ topLogprobs, ...sequence }) => ({
      ...sequence,
      ...(topLogprobs && { topLogprobs: storedCells(topLogprobs) }),
    })),
    promptLogprobs,
    ...(topPromptLogprobs && { topPromptLogprobs: storedCells(topPromptLogprobs) }),
  };
}

export function readAnswer({ sequences, promptLogprobs, topPromptLogprobs }: StoredAnswer): SampleResult {
  return {
    sequences: sequences.map(({ topLogprobs, ...sequence }) => ({
      ...sequence,
      ...(topLogprobs && { topLogprobs: readCells(topLogprobs) }),
    })),
    promptLogprobs,
    ...(topPromptLogprobs && { topPromptLogprobs: readCells(topPromptLogprobs) }),
  };
}

function storedCells({ width, tokens, logprobs }: TokenCells): StoredCells {
  return { width, tokens: [...tokens], logprobs: [...logprobs] };
}

function readCells({ width, tokens, logprobs }: StoredCells): TokenCells {
  return { width, tokens: Int32Array.from(tokens), logprobs: Float32Array.from(logprobs) };
}
