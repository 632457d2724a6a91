import { EMPTY_LOGPROB } from './sampling';
import type { NumberTable, SampleRequest, SampleResult, TokenCells } from './sampling';

/** Cells of scores one request may ask for: 2 MiB in binary. */
export const MOST_SCORE_CELLS = 262_144;

export function emptyCells(rowCount: number, width: number): TokenCells {
  const count = rowCount * width;
  return { width, tokens: new Int32Array(count), logprobs: new Float32Array(count).fill(EMPTY_LOGPROB) };
}

export interface TokenLogprob {
  readonly token: number;
  readonly logprob: number;
}

/** The rows of cells without what is empty; null for a row that holds nothing. */
export function rowsOfCells({
  width,
  tokens,
  logprobs,
}: TokenCells): readonly (readonly TokenLogprob[] | null)[] {
  if (width === 0) return [];
  return Array.from({ length: tokens.length / width }, (_, row) => {
    const cells = Array.from({ length: width }, (_cell, column) => ({
      token: tokens[row * width + column] ?? 0,
      logprob: logprobs[row * width + column] ?? EMPTY_LOGPROB,
    })).filter(({ token, logprob }) => token !== 0 || logprob !== EMPTY_LOGPROB);
    return cells.length === 0 ? null : cells;
  });
}

/** Where a row's values begin; of the row after the last: where they end. */
export function rowStartOf(
  { columnCount, sparse }: NumberTable<Int32Array | Float32Array>,
  row: number,
): number {
  return sparse === null ? row * columnCount : (sparse.rowStarts[row] ?? 0);
}

/** How many cells the answer to a request holds beyond its tokens and their log-probabilities. */
export function countScoreCells(request: SampleRequest, contextLength: number): number {
  const { prompt, numSamples, params } = request;
  const drawn = numSamples * Math.min(params.maxTokens, contextLength - prompt.length + 1);
  return (
    prompt.length * ((request.topPromptLogprobs ?? 0) + (request.promptAlternatives ?? 0)) +
    drawn * (request.topSampledLogprobs ?? 0) +
    (request.promptTargets?.values.length ?? 0)
  );
}

/** What a result holds in memory beyond its tokens and their log-probabilities. */
export function bytesOfScores({
  sequences,
  topPromptLogprobs,
  promptTargetLogprobs,
  promptAlternatives,
}: SampleResult): number {
  const cells = [topPromptLogprobs, promptAlternatives, ...sequences.map(({ topLogprobs }) => topLogprobs)];
  const { values, sparse } = promptTargetLogprobs ?? { values: null, sparse: null };
  return [
    ...cells.flatMap((each) => [each?.tokens, each?.logprobs]),
    values,
    sparse?.rowStarts,
    sparse?.columns,
  ].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
}

/** Why the scores that a request asks for cannot be given; null where they can. */
export function refusalOfScores(
  request: SampleRequest,
  { vocabSize, contextLength }: { readonly vocabSize: number; readonly contextLength: number },
): string | null {
  const counts = {
    topk_prompt_logprobs: request.topPromptLogprobs,
    topk_sample_logprobs: request.topSampledLogprobs,
    prompt_alt_tokens_k: request.promptAlternatives,
  };
  for (const [name, count = 0] of Object.entries(counts)) {
    if (!Number.isSafeInteger(count) || count < 0)
      return `${name} is ${count}; it must be a whole number, 0 for none.`;
  }
  const refusal = request.promptTargets
    ? refusalOfTargets(request.promptTargets, request.prompt.length, vocabSize)
    : null;
  if (refusal !== null) return refusal;
  const cells = countScoreCells(request, contextLength);
  if (cells <= MOST_SCORE_CELLS) return null;
  return (
    `topk_prompt_logprobs, topk_sample_logprobs, target_prompt_logprobs and prompt_alt_tokens_k ask for ${cells} ` +
    `scores together; a request may ask for ${MOST_SCORE_CELLS}. Ask for fewer at each token, or lower max_tokens or num_samples.`
  );
}

function refusalOfTargets(
  { rowCount, values }: NumberTable<Int32Array>,
  promptLength: number,
  vocabSize: number,
): string | null {
  if (rowCount !== promptLength - 1) {
    return `target_prompt_logprobs has ${rowCount} rows; a prompt of ${promptLength} tokens takes ${promptLength - 1}.`;
  }
  const outside = values.find((token) => token < -1 || token >= vocabSize);
  if (outside !== undefined) {
    return `target_prompt_logprobs names token ${outside}, which is not in the vocabulary (0 to ${vocabSize - 1}, -1 for none).`;
  }
  if (values.every((token) => token === -1))
    return 'target_prompt_logprobs names no token. Name at least one.';
  return null;
}
