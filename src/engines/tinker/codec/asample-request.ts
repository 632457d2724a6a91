import type { SampleRequest, SamplingParams } from '../../../core/sampling';
import { askedScoresFromJson, askedScoresToJson } from './asample-scores-json';
import { malformed } from './bytes';
import { modelInputFromJson, modelInputToJson } from './json-request';
import type { JsonObject } from './json-values';
import { integerFrom, numberFrom, objectFrom, stringFrom } from './json-values';
import type { AsampleRequest } from './messages';

/** What a sender means who leaves these out. */
const DEFAULTS = { maxTokens: 16, temperature: 1, topK: -1, topP: 1, numSamples: 1 };

export function asampleRequestToJson(asample: AsampleRequest): JsonObject {
  const { request } = asample;
  return {
    ...(asample.samplingSessionId !== null && { sampling_session_id: asample.samplingSessionId }),
    ...(asample.modelPath !== null && { model_path: asample.modelPath }),
    ...(asample.baseModel !== null && { base_model: asample.baseModel }),
    ...(asample.seqId !== null && { seq_id: asample.seqId }),
    num_samples: request.numSamples,
    prompt: modelInputToJson(request.prompt),
    sampling_params: paramsToJson(request.params),
    ...askedScoresToJson(request),
    type: 'sample',
  };
}

export function asampleRequestFromJson(body: unknown): AsampleRequest {
  const asample = objectFrom(body, 'asample request');
  const request: SampleRequest = {
    prompt: listOf(modelInputFromJson(asample['prompt'], 'prompt')),
    numSamples: integerOr(asample['num_samples'], DEFAULTS.numSamples, 'num_samples'),
    params: paramsFromJson(objectFrom(asample['sampling_params'] ?? {}, 'sampling_params')),
    ...askedScoresFromJson(asample),
  };
  return {
    samplingSessionId: stringOrNull(asample['sampling_session_id'], 'sampling_session_id'),
    modelPath: stringOrNull(asample['model_path'], 'model_path'),
    baseModel: stringOrNull(asample['base_model'], 'base_model'),
    seqId: asample['seq_id'] == null ? null : integerFrom(asample['seq_id'], 'seq_id'),
    request,
  };
}

/** `Array.from` takes six times as long, and there may be millions. */
function listOf(tokens: Int32Array): number[] {
  const list: number[] = [];
  for (let index = 0; index < tokens.length; index++) list.push(tokens[index] ?? 0);
  return list;
}

function paramsToJson(params: SamplingParams): JsonObject {
  return {
    max_tokens: params.maxTokens,
    ...(params.seed !== undefined && { seed: params.seed }),
    ...(params.stop !== undefined && { stop: params.stop }),
    temperature: params.temperature,
    top_k: params.topK,
    top_p: params.topP,
  };
}

function paramsFromJson(params: JsonObject): SamplingParams {
  return {
    maxTokens: integerOr(params['max_tokens'], DEFAULTS.maxTokens, 'max_tokens'),
    temperature: numberOr(params['temperature'], DEFAULTS.temperature, 'temperature'),
    topK: integerOr(params['top_k'], DEFAULTS.topK, 'top_k'),
    topP: numberOr(params['top_p'], DEFAULTS.topP, 'top_p'),
    ...(params['seed'] != null && { seed: integerFrom(params['seed'], 'seed') }),
    ...(params['stop'] != null && { stop: stopFrom(params['stop']) }),
  };
}

/** One text, a list of texts or a list of token ids; an empty list means never to stop. */
function stopFrom(stop: unknown): readonly string[] | readonly number[] {
  if (typeof stop === 'string') return [stop];
  if (Array.isArray(stop) && stop.every((item) => typeof item === 'string')) return stop;
  if (Array.isArray(stop) && stop.every((item) => Number.isSafeInteger(item))) {
    return stop.map((item) => integerFrom(item, 'stop'));
  }
  throw malformed('stop is neither a text, a list of texts nor a list of token ids');
}

function integerOr(value: unknown, fallback: number, what: string): number {
  return value == null ? fallback : integerFrom(value, what);
}

function numberOr(value: unknown, fallback: number, what: string): number {
  return value == null ? fallback : numberFrom(value, what);
}

function stringOrNull(value: unknown, what: string): string | null {
  return value == null ? null : stringFrom(value, what);
}
