import type { SampleRequest, SampleResult } from '../../../src/core/sampling';
import {
  bytesOfScores,
  countScoreCells,
  emptyCells,
  MOST_SCORE_CELLS,
  refusalOfScores,
  rowsOfCells,
} from '../../../src/core/sampling-scores';

const SHAPE = { vocabSize: 10, contextLength: 8 };

function request(more: Partial<SampleRequest>, maxTokens = 2): SampleRequest {
  const params = { maxTokens, temperature: 1, topK: -1, topP: 1 };
  return { prompt: [1, 2, 3], numSamples: 2, params, ...more };
}

const targets = (values: readonly number[], rowCount = 2) => ({
  rowCount,
  columnCount: values.length / rowCount,
  values: Int32Array.from(values),
  sparse: null,
});

test.each([
  [{}, 2, 0],
  [{ promptLogprobs: true }, 2, 0],
  [{ topPromptLogprobs: 5 }, 2, 15],
  [{ promptAlternatives: 4 }, 2, 12],
  [{ topSampledLogprobs: 3 }, 2, 12],
  [{ topSampledLogprobs: 3 }, 1000, 36],
  [{ promptTargets: targets([1, -1]) }, 2, 2],
])('counts what %j with %d tokens answers', (more, maxTokens, cells) => {
  expect(countScoreCells(request(more, maxTokens), SHAPE.contextLength)).toBe(cells);
});

test.each([
  [{ topPromptLogprobs: MOST_SCORE_CELLS / 4 }, null],
  [{ topPromptLogprobs: MOST_SCORE_CELLS / 2 }, /ask for 393216 scores/],
  [{ topPromptLogprobs: -1 }, /topk_prompt_logprobs is -1/],
  [{ promptAlternatives: 1.5 }, /prompt_alt_tokens_k is 1.5/],
  [{ topSampledLogprobs: Number.NaN }, /topk_sample_logprobs is NaN/],
  [{ promptTargets: targets([1, -1]) }, null],
  [{ promptTargets: targets([-1, -1]) }, /names no token/],
  [{ promptTargets: targets([1, 10]) }, /names token 10/],
  [{ promptTargets: targets([1, -2]) }, /names token -2/],
  [{ promptTargets: targets([1, 2, 3], 3) }, /has 3 rows; a prompt of 3 tokens takes 2/],
])('says why %j cannot be given', (more, reason) => {
  const refusal = refusalOfScores(request(more), SHAPE);

  if (reason === null) expect(refusal).toBeNull();
  else expect(refusal).toMatch(reason);
});

test('rows leave empty cells out, and one that holds nothing is null', () => {
  const cells = emptyCells(3, 2);
  cells.logprobs.set([-1, -2, -3]);
  cells.tokens.set([0, 4, 5]);

  expect(rowsOfCells(cells)).toEqual([
    [
      { token: 0, logprob: -1 },
      { token: 4, logprob: -2 },
    ],
    [{ token: 5, logprob: -3 }],
    null,
  ]);
  expect(rowsOfCells(emptyCells(0, 0))).toEqual([]);
});

test('a result counts the bytes of its scores', () => {
  const sequence = { tokens: [1], logprobs: [-1], stopReason: 'stop' as const };
  const plain: SampleResult = { sequences: [sequence], promptLogprobs: null };
  const table = { rowCount: 2, columnCount: 1, values: new Float32Array(2) };
  const sparse = { rowStarts: new Int32Array(3), columns: new Int32Array(2) };

  expect(bytesOfScores(plain)).toBe(0);
  expect(
    bytesOfScores({
      ...plain,
      sequences: [{ ...sequence, topLogprobs: emptyCells(1, 3) }],
      topPromptLogprobs: emptyCells(3, 2),
      promptTargetLogprobs: { ...table, sparse },
      promptAlternatives: emptyCells(2, 5),
    }),
  ).toBe(24 + 48 + 28 + 80);
});
