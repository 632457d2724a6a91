import type { Steps } from '../../../core/concurrency/steps';
import type { ForwardBackwardResult } from '../../../core/datum';
import type { SampledSequence, SampleResult } from '../../../core/sampling';
import { promptScoresFromJson, promptScoresToJson, topFromJson, topToJson } from './asample-scores-json';
import { floatsFrom, tensorToJson } from './json-request';
import type { JsonObject } from './json-values';
import { arrayFrom, numberOrNaNFrom, objectFrom, stringFrom, tokensFrom } from './json-values';
import { LOSS_OUTPUT_TYPE } from './protobuf-results';

/** Log-probs that are written in one step. */
const VALUES_AT_ONCE = 50_000;

/** `widths`: targets a position of each datum, 1 where left out. */
export function forwardBackwardOutputToJson(
  result: ForwardBackwardResult,
  widths: readonly number[] = [],
): JsonObject {
  return {
    loss_fn_output_type: LOSS_OUTPUT_TYPE,
    loss_fn_outputs: result.logprobs.map((values, index) => outputToJson(values, widths[index])),
    metrics: result.metrics,
  };
}

/** The text of the same, some datums at a time: it may be a hundred megabytes. */
export function* forwardBackwardOutputText(
  result: ForwardBackwardResult,
  widths: readonly number[] = [],
): Steps<string> {
  const texts: string[] = [];
  let count = 0;
  for (const [index, values] of result.logprobs.entries()) {
    texts.push(JSON.stringify(outputToJson(values, widths[index])));
    count += values.length;
    if (count < VALUES_AT_ONCE) continue;
    count = 0;
    yield;
  }
  const [type, metrics] = [LOSS_OUTPUT_TYPE, result.metrics].map((value) => JSON.stringify(value));
  return `{"loss_fn_output_type":${type},"loss_fn_outputs":[${texts.join()}],"metrics":${metrics}}`;
}

export function forwardBackwardOutputFromJson(body: unknown): ForwardBackwardResult {
  const output = objectFrom(body, 'forward_backward result');
  return {
    logprobs: arrayFrom(output['loss_fn_outputs'], 'loss_fn_outputs').map((item, index) => {
      const logprobs = objectFrom(objectFrom(item, `loss_fn_outputs[${index}]`)['logprobs'], 'logprobs');
      return floatsFrom(arrayFrom(logprobs['data'], 'logprobs.data'), 'logprobs');
    }),
    metrics: metricsFromJson(output['metrics']),
  };
}

function outputToJson(values: Float32Array, width = 1): JsonObject {
  return { logprobs: tensorToJson(values, { dtype: 'float32', width }) };
}

/** A metric that is not a number (null where it was NaN) reads as NaN. */
function metricsFromJson(value: unknown): Record<string, number> {
  if (value == null) return {};
  return Object.fromEntries(
    Object.entries(objectFrom(value, 'metrics')).map(([name, metric]) => [
      name,
      numberOrNaNFrom(metric, name),
    ]),
  );
}

export function sampleResponseToJson(result: SampleResult): JsonObject {
  return {
    type: 'sample',
    sequences: result.sequences.map(({ stopReason, tokens, logprobs, topLogprobs }) => ({
      stop_reason: stopReason,
      tokens,
      logprobs,
      ...(topLogprobs && { topk_logprobs: topToJson(topLogprobs) }),
    })),
    ...promptScoresToJson(result),
  };
}

/** `promptLogprobs` as long as the server sent them. */
export function sampleResponseFromJson(body: unknown): SampleResult {
  const response = objectFrom(body, 'sample result');
  const promptLogprobs = response['prompt_logprobs'];
  return {
    sequences: arrayFrom(response['sequences'], 'sequences').map(sequenceFromJson),
    promptLogprobs:
      promptLogprobs == null
        ? null
        : arrayFrom(promptLogprobs, 'prompt_logprobs').map((value) =>
            value === null ? null : logprobFrom(value, 'prompt_logprobs'),
          ),
    ...promptScoresFromJson(response),
  };
}

function sequenceFromJson(value: unknown): SampledSequence {
  const sequence = objectFrom(value, 'sequence');
  const logprobs = sequence['logprobs'];
  const top = sequence['topk_logprobs'];
  return {
    tokens: Array.from(tokensFrom(sequence['tokens'], 'sampled tokens')),
    logprobs:
      logprobs == null
        ? null
        : arrayFrom(logprobs, 'sampled logprobs').map((item) => logprobFrom(item, 'sampled logprobs')),
    stopReason: stringFrom(sequence['stop_reason'], 'stop_reason') === 'stop' ? 'stop' : 'length',
    ...(top != null && { topLogprobs: topFromJson(top, 'topk_logprobs') }),
  };
}

/** Some servers write more digits than a float32 has; the other codec could not carry them. */
function logprobFrom(value: unknown, what: string): number {
  return Math.fround(numberOrNaNFrom(value, what));
}
