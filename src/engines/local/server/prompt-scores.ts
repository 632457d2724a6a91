import type { SampleRequest, SampleResult, TokenCells } from '../../../core/sampling';
import { EMPTY_LOGPROB } from '../../../core/sampling';
import { ProtocolError } from './protocol-error';

/** How many tokens at the end of a prompt are to be scored; null: all. */
export type ScoredLast = number | null;

export function checkScoredLast({ prompt, promptLogprobs }: SampleRequest, scoredLast: ScoredLast): void {
  if (scoredLast === null) return;
  if (promptLogprobs !== true)
    throw new ProtocolError(422, 'Invalid request: prompt_logprobs_last_n needs prompt_logprobs.');
  if (scoredLast < prompt.length) return;
  throw new ProtocolError(
    422,
    `Invalid request: prompt_logprobs_last_n is ${scoredLast}; a prompt of ${prompt.length} tokens has scores for ${prompt.length - 1}.`,
  );
}

/** The scores asked for; the ones before them, which cost the engine nothing more, become null. Targets and alternatives stay. */
export function keepScores(result: SampleResult, scoredLast: ScoredLast): SampleResult {
  const { promptLogprobs, topPromptLogprobs } = result;
  if (scoredLast === null || promptLogprobs === null) return result;
  const first = promptLogprobs.length - scoredLast;
  return {
    ...result,
    promptLogprobs: promptLogprobs.map((score, index) => (index < first ? null : score)),
    ...(topPromptLogprobs && { topPromptLogprobs: emptiedBefore(topPromptLogprobs, first) }),
  };
}

function emptiedBefore({ width, tokens, logprobs }: TokenCells, row: number): TokenCells {
  return {
    width,
    tokens: tokens.slice().fill(0, 0, row * width),
    logprobs: logprobs.slice().fill(EMPTY_LOGPROB, 0, row * width),
  };
}
