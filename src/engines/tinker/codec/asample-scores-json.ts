import type { NumberTable, SampleRequest, SampleResult, TokenCells } from '../../../core/sampling';
import { emptyCells, rowsOfCells } from '../../../core/sampling-scores';
import { checkedTable } from './asample-table';
import { malformed } from './bytes';
import type { JsonObject } from './json-values';
import { arrayFrom, integerFrom, numberOrNaNFrom, objectFrom, stringFrom, tokensFrom } from './json-values';

/** One long row among many short ones must not take more memory than there is. */
const MOST_CELLS = 2 ** 24;

/** Scores that a request may ask for beyond those of what was drawn. Left out where not asked for: older servers do not know them. */
export function askedScoresToJson(request: SampleRequest): JsonObject {
  const { topPromptLogprobs = 0, topSampledLogprobs = 0, promptTargets, promptAlternatives = 0 } = request;
  return {
    prompt_logprobs: request.promptLogprobs ?? false,
    topk_prompt_logprobs: topPromptLogprobs,
    ...(topSampledLogprobs !== 0 && { topk_sample_logprobs: topSampledLogprobs }),
    ...(promptTargets && { target_prompt_logprobs: tableToJson(promptTargets) }),
    ...(promptAlternatives !== 0 && { prompt_alt_tokens_k: promptAlternatives }),
  };
}

type AskedScores = Pick<
  SampleRequest,
  'promptLogprobs' | 'topPromptLogprobs' | 'topSampledLogprobs' | 'promptTargets' | 'promptAlternatives'
>;

export function askedScoresFromJson(asample: JsonObject): AskedScores {
  const targets = asample['target_prompt_logprobs'];
  const topPromptLogprobs = countFrom(asample, 'topk_prompt_logprobs');
  const topSampledLogprobs = countFrom(asample, 'topk_sample_logprobs');
  const promptAlternatives = countFrom(asample, 'prompt_alt_tokens_k');
  return {
    promptLogprobs: asample['prompt_logprobs'] === true,
    ...(topPromptLogprobs !== 0 && { topPromptLogprobs }),
    ...(topSampledLogprobs !== 0 && { topSampledLogprobs }),
    ...(targets != null && { promptTargets: targetsFromJson(targets) }),
    ...(promptAlternatives !== 0 && { promptAlternatives }),
  };
}

export function promptScoresToJson(result: SampleResult): JsonObject {
  const { topPromptLogprobs, promptTargetLogprobs, promptAlternatives } = result;
  return {
    prompt_logprobs: result.promptLogprobs,
    topk_prompt_logprobs: topPromptLogprobs ? topToJson(topPromptLogprobs) : null,
    ...(promptTargetLogprobs && { target_prompt_logprobs: tableToJson(promptTargetLogprobs) }),
    ...(promptAlternatives && { prompt_alt_tokens: alternativesToJson(promptAlternatives) }),
  };
}

export function promptScoresFromJson(
  response: JsonObject,
): Omit<SampleResult, 'sequences' | 'promptLogprobs'> {
  const top = response['topk_prompt_logprobs'];
  const targets = response['target_prompt_logprobs'];
  const alternatives = response['prompt_alt_tokens'];
  return {
    ...(top != null && { topPromptLogprobs: topFromJson(top, 'topk_prompt_logprobs') }),
    ...(targets != null && { promptTargetLogprobs: scoresFromJson(targets, 'target_prompt_logprobs') }),
    ...(alternatives != null && { promptAlternatives: alternativesFromJson(alternatives) }),
  };
}

export function topToJson(cells: TokenCells): readonly unknown[] {
  return rowsOfCells(cells).map((row) => row && row.map(({ token, logprob }) => [token, logprob]));
}

/** As wide as the longest row. */
export function topFromJson(value: unknown, what: string): TokenCells {
  const rows = arrayFrom(value, what).map((row) => (row === null ? [] : arrayFrom(row, what)));
  const width = rows.reduce((widest, row) => Math.max(widest, row.length), 0);
  if (rows.length * width > MOST_CELLS)
    throw malformed(`${what} has ${rows.length} rows, the longest of ${width}`);
  const cells = emptyCells(rows.length, width);
  for (const [index, row] of rows.entries()) {
    const pairs = row.map((pair) => arrayFrom(pair, what));
    const tokens = tokensFrom(
      pairs.map(([token]) => token),
      what,
    );
    cells.tokens.set(tokens, index * width);
    cells.logprobs.set(
      pairs.map(([, logprob]) => numberOrNaNFrom(logprob, what)),
      index * width,
    );
  }
  return cells;
}

function countFrom(asample: JsonObject, name: string): number {
  const value = asample[name];
  return value == null ? 0 : integerFrom(value, name);
}

function alternativesToJson({ width, tokens, logprobs }: TokenCells): JsonObject {
  const shape = { rowCount: width === 0 ? 0 : tokens.length / width, columnCount: width, sparse: null };
  return {
    tokens: tableToJson({ ...shape, values: tokens }),
    logprobs: tableToJson({ ...shape, values: logprobs }),
  };
}

function alternativesFromJson(value: unknown): TokenCells {
  const { tokens, logprobs } = objectFrom(value, 'prompt_alt_tokens');
  const ids = tableFromJson(tokens, 'prompt_alt_tokens.tokens', tokensFrom);
  const scores = scoresFromJson(logprobs, 'prompt_alt_tokens.logprobs');
  if (ids.values.length !== scores.values.length)
    throw malformed('prompt_alt_tokens has unequal numbers of tokens and log-probabilities');
  return { width: ids.columnCount, tokens: ids.values, logprobs: scores.values };
}

function tableToJson(table: NumberTable<Int32Array | Float32Array>): JsonObject {
  const { values, rowCount, columnCount, sparse } = table;
  return {
    data: Array.from(values),
    dtype: values instanceof Int32Array ? 'int64' : 'float32',
    shape: [rowCount, columnCount],
    ...(sparse && {
      sparse_crow_indices: Array.from(sparse.rowStarts),
      sparse_col_indices: Array.from(sparse.columns),
    }),
  };
}

function targetsFromJson(value: unknown): NumberTable<Int32Array> {
  const what = 'target_prompt_logprobs';
  const dtype = stringFrom(objectFrom(value, what)['dtype'], `${what}.dtype`);
  if (dtype !== 'int64') throw malformed(`${what} is of ${dtype}; token ids are int64`);
  return tableFromJson(value, what, tokensFrom);
}

function scoresFromJson(value: unknown, what: string): NumberTable<Float32Array> {
  return tableFromJson(value, what, (data, name) =>
    Float32Array.from(arrayFrom(data, name), (item) => numberOrNaNFrom(item, name)),
  );
}

function tableFromJson<Values extends Int32Array | Float32Array>(
  value: unknown,
  what: string,
  read: (data: unknown, what: string) => Values,
): NumberTable<Values> {
  const tensor = objectFrom(value, what);
  const shape = arrayFrom(tensor['shape'], `${what}.shape`).map((size) => integerFrom(size, `${what}.shape`));
  const rowStarts = tensor['sparse_crow_indices'];
  const columns = tensor['sparse_col_indices'];
  return checkedTable(what, shape, {
    values: read(tensor['data'], `${what}.data`),
    sparse:
      rowStarts == null && columns == null
        ? null
        : {
            rowStarts: tokensFrom(rowStarts, `${what}.sparse_crow_indices`),
            columns: tokensFrom(columns, `${what}.sparse_col_indices`),
          },
  });
}
