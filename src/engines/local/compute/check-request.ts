import { DomainError } from '../../../core/errors';
import { refusalOfScores } from '../../../core/sampling-scores';
import { LOSSES } from './losses';
import type { AdamParams, Datum } from '../../../core/datum';
import type { SampleRequest } from '../../../core/sampling';
import type { LossSpec, LoraConfig } from '../model-runtime';
import type { LossSettings } from './train-slice';
import type { ModelShape } from './model-shape';

/** Everything is checked before anything changes, so that a refused request leaves no trace. */

export function userError(message: string): DomainError {
  return new DomainError('request-failed', message, { category: 'user' });
}

export function checkLoss({ name, config }: LossSpec): LossSettings {
  if (!Object.hasOwn(LOSSES, name)) {
    throw userError(`Unknown loss "${name}". Known: ${Object.keys(LOSSES).join(', ')}.`);
  }
  const { settings } = LOSSES[name];
  for (const [key, value] of Object.entries(config)) {
    if (!Object.hasOwn(settings, key)) {
      throw userError(
        `Loss "${name}" has no setting "${key}". Known: ${Object.keys(settings).join(', ') || 'none'}.`,
      );
    }
    if (!Number.isFinite(value))
      throw userError(`Loss setting "${key}" is ${value}; it must be a finite number.`);
  }
  return { name, settings: { ...settings, ...config } };
}

export function checkData(data: readonly Datum[], loss: LossSettings, shape: ModelShape): void {
  if (data.length === 0) throw userError('The request holds no datum. Send at least one.');
  for (const [index, datum] of data.entries()) checkDatum(datum, { loss, shape, where: `Datum ${index}` });
}

interface DatumContext {
  readonly loss: LossSettings;
  readonly shape: ModelShape;
  readonly where: string;
}

function checkDatum(datum: Datum, { loss, shape, where }: DatumContext): void {
  const { tokens, targetTokens, lossInputs, targetsPerPosition: width = 1 } = datum;
  const { length } = tokens;
  if (length === 0) throw userError(`${where} has no tokens.`);
  if (length > shape.contextLength) {
    throw userError(`${where} has ${length} tokens; the model takes ${shape.contextLength}. Shorten it.`);
  }
  if (width > 1 && LOSSES[loss.name].takesSoftTargets !== true) {
    throw userError(
      `${where} has ${width} targets a position; loss "${loss.name}" takes one. Use cross_entropy for soft targets.`,
    );
  }
  const count = length * width;
  if (targetTokens.length !== count) {
    const each = width > 1 ? `, ${width} a token` : '';
    throw userError(
      `${where} has ${length} tokens but ${targetTokens.length} target_tokens. They must be as long${each}.`,
    );
  }
  checkTokens(tokens, shape, where);
  checkTokens(targetTokens, shape, `${where} (target_tokens)`);
  checkLossInputs(lossInputs, count, { loss, where });
}

function checkLossInputs(
  lossInputs: Datum['lossInputs'],
  length: number,
  { loss, where }: Pick<DatumContext, 'loss' | 'where'>,
): void {
  const { inputs, defaultInput } = LOSSES[loss.name];
  const unknown = Object.keys(lossInputs).find((name) => !inputs.includes(name));
  if (unknown !== undefined)
    throw userError(`${where}: loss "${loss.name}" takes ${inputs.join(', ')}, not "${unknown}".`);
  for (const name of inputs) {
    const values = lossInputs[name];
    if (values !== undefined || defaultInput === undefined) checkInput(values, { name, length, where });
  }
  if (loss.name === 'gspo' && lossInputs['sequence_ratio_mask']?.every((marked) => marked === 0))
    throw userError(`${where}: sequence_ratio_mask marks no token. Mark those of the sampled sequence.`);
}

function checkInput(
  values: Float32Array | undefined,
  { name, length, where }: { readonly name: string; readonly length: number; readonly where: string },
): void {
  if (values?.length !== length) {
    throw userError(
      `${where} has ${length} target_tokens but ${values?.length ?? 'no'} ${name}. They must be as long.`,
    );
  }
  if (!values.every(Number.isFinite)) throw userError(`${where}: ${name} must be finite numbers.`);
}

function checkTokens(tokens: ArrayLike<number>, { vocabSize }: ModelShape, where: string): void {
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] ?? -1;
    if (Number.isInteger(token) && token >= 0 && token < vocabSize) continue;
    throw userError(
      `${where}: token ${token} at position ${index} is not in the vocabulary of ${vocabSize}.`,
    );
  }
}

type Rule = readonly [name: string, value: number, isValid: (value: number) => boolean, rule: string];

function checkRules(rules: readonly Rule[]): void {
  for (const [name, value, isValid, rule] of rules) {
    if (!Number.isFinite(value) || !isValid(value))
      throw userError(`${name} is ${value}; it must be ${rule}.`);
  }
}

const isNotNegative = (value: number): boolean => value >= 0;
/** The arithmetic is in float32: what is finite, above 0 or below 1 must be so there. */
const isSingle = (value: number): boolean => value >= 0 && Number.isFinite(Math.fround(value));
const isFraction = (value: number): boolean => value >= 0 && Math.fround(value) < 1;
const isPositiveSingle = (value: number): boolean => isSingle(value) && Math.fround(value) > 0;

export function checkAdam(adam: AdamParams): void {
  const single = 'at least 0 and within float32';
  const fraction = 'at least 0 and below 1 in float32';
  checkRules([
    ['learning_rate', adam.learningRate, isSingle, single],
    ['beta1', adam.beta1, isFraction, fraction],
    ['beta2', adam.beta2, isFraction, fraction],
    ['eps', adam.eps, isPositiveSingle, 'above 0 and within float32'],
    ['weight_decay', adam.weightDecay, isSingle, single],
    ['grad_clip_norm', adam.gradClipNorm, isSingle, single],
  ]);
}

export function checkLora({ rank, seed, ...parts }: LoraConfig): void {
  checkRules([
    ['LoRA rank', rank, (value) => Number.isInteger(value) && value > 0, 'a whole number above 0'],
    ['LoRA seed', seed, Number.isSafeInteger, 'a whole number'],
  ]);
  if (!Object.values(parts).some(Boolean))
    throw userError('LoRA trains nothing: switch attn, mlp or unembed on.');
}

export function checkSampleRequest(request: SampleRequest, shape: ModelShape): void {
  const { prompt, numSamples, params } = request;
  if (prompt.length === 0) throw userError('The prompt is empty. Send at least one token.');
  if (prompt.length > shape.contextLength) {
    throw userError(
      `The prompt has ${prompt.length} tokens; the model takes ${shape.contextLength}. Shorten it.`,
    );
  }
  checkTokens(prompt, shape, 'The prompt');
  checkRules([
    ['num_samples', numSamples, (value) => Number.isInteger(value) && value > 0, 'a whole number above 0'],
    ['max_tokens', params.maxTokens, (value) => Number.isInteger(value) && value >= 0, 'a whole number'],
    ['temperature', params.temperature, isNotNegative, 'at least 0'],
    ['top_k', params.topK, (value) => Number.isInteger(value) && value >= -1, '-1 (off) or a whole number'],
    ['top_p', params.topP, (value) => value > 0 && value <= 1, 'above 0 and at most 1'],
    ['seed', params.seed ?? 0, Number.isSafeInteger, 'a whole number'],
  ]);
  const refusal = refusalOfScores(request, shape);
  if (refusal !== null) throw userError(refusal);
}
