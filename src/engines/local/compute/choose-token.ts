import { createRandom } from '../../../core/random';

/** The parameters that decide a draw. */
export interface DrawParams {
  readonly temperature: number;
  /** -1 switches it off. */
  readonly topK: number;
  readonly topP: number;
}

/** Below this, logits divided by the temperature leave float32; the likeliest token has all the probability long before. */
const SMALLEST_TEMPERATURE = 1e-20;

/** The parameters as they are drawn with: a temperature too small to divide by is 0, which takes the likeliest. */
export function drawParams({ temperature, topK, topP }: DrawParams): DrawParams {
  return { temperature: temperature < SMALLEST_TEMPERATURE ? 0 : temperature, topK, topP };
}

/** One uniform number for the n-th token of a stream: a function of the seed and n alone. */
export function uniformAt(seed: number, index: number): number {
  const random = createRandom(seed ^ Math.imul(index + 1, 0x9e3779b1));
  // The first number of neighbouring seeds is correlated; the second is well mixed.
  random();
  return random();
}

/** The seed of one sample's stream, from the request's seed and the sample's index. */
export function streamSeed(seed: number, sample: number): number {
  const low = seed >>> 0;
  const high = Math.floor(seed / 4294967296) >>> 0;
  let mixed = low ^ Math.imul(high, 0x85ebca6b) ^ Math.imul(sample + 1, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}

/** The seed of the stream that alternatives to one place in a prompt are drawn from: apart from those of the samples. */
export function alternativesSeed(seed: number, position: number): number {
  return streamSeed(seed, -2 - position);
}

/** Independent draws from the whole distribution, one for each uniform number. */
export function drawWithReplacement(probabilities: Float32Array, uniforms: Float64Array): Int32Array {
  const sums = new Float64Array(probabilities.length);
  let total = 0;
  for (let token = 0; token < sums.length; token++) {
    total += probabilities[token] ?? 0;
    sums[token] = total;
  }
  return Int32Array.from(uniforms, (uniform) => firstAbove(sums, uniform * total));
}

function firstAbove(sums: Float64Array, value: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Chooses a token from probabilities already at the given temperature. Temperature 0 takes the likeliest, ties to the lowest id. */
export function chooseToken(probabilities: Float32Array, params: DrawParams, uniform: number): number {
  if (params.temperature === 0) return likeliest(probabilities);
  return isFromAll(params, probabilities.length)
    ? drawFromAll(probabilities, uniform)
    : drawTruncated(probabilities, params, uniform);
}

/** Whether any token of the vocabulary may be drawn. */
export function isFromAll({ temperature, topK, topP }: DrawParams, vocabSize: number): boolean {
  return temperature !== 0 && (topK <= 0 || topK >= vocabSize) && topP >= 1;
}

function likeliest(probabilities: Float32Array): number {
  let best = 0;
  for (let token = 1; token < probabilities.length; token++) {
    if ((probabilities[token] ?? 0) > (probabilities[best] ?? 0)) best = token;
  }
  return best;
}

/** The kernel `drawTokens` draws the same. */
export function drawFromAll(probabilities: Float32Array, uniform: number): number {
  let total = 0;
  for (const probability of probabilities) total += probability;
  let left = uniform * total;
  let last = 0;
  for (let token = 0; token < probabilities.length; token++) {
    const probability = probabilities[token] ?? 0;
    if (probability > 0) last = token;
    left -= probability;
    if (left < 0) return token;
  }
  return last;
}

function drawFrom(probabilities: Float32Array, kept: readonly number[], uniform: number): number {
  const values = Float32Array.from(kept, (token) => probabilities[token] ?? 0);
  return kept[drawFromAll(values, uniform)] ?? 0;
}

/** Top-k first, then the smallest set that holds `topP` of what is left, as the field does. */
function drawTruncated(probabilities: Float32Array, { topK, topP }: DrawParams, uniform: number): number {
  const order = Array.from(probabilities.keys()).sort(
    (left, right) => (probabilities[right] ?? 0) - (probabilities[left] ?? 0) || left - right,
  );
  const kept = topK > 0 ? order.slice(0, topK) : order;
  if (topP >= 1) return drawFrom(probabilities, kept, uniform);
  const total = kept.reduce((sum, token) => sum + (probabilities[token] ?? 0), 0);
  let cumulative = 0;
  const size = kept.findIndex((token) => {
    cumulative += probabilities[token] ?? 0;
    return cumulative >= topP * total;
  });
  return drawFrom(probabilities, size === -1 ? kept : kept.slice(0, size + 1), uniform);
}
