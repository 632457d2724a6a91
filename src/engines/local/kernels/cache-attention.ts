// Attention of single rows to what lies in caches: how tokens are drawn.

import { scoreKeys, scoreSixteens, softmaxHeads } from './cache-scores';
import { FLOAT, VECTOR, multiplyAdd } from './simd';

function mixSixteen(end: usize, step: usize, p: usize, v: usize, o: usize): void {
  let o0 = f32x4.splat(0),
    o1 = f32x4.splat(0),
    o2 = f32x4.splat(0),
    o3 = f32x4.splat(0);
  let value = v;
  for (let j: usize = 0; j < end; j += FLOAT) {
    const probability = v128.load32_splat(p + j);
    o0 = multiplyAdd(probability, v128.load(value), o0);
    o1 = multiplyAdd(probability, v128.load(value, 16), o1);
    o2 = multiplyAdd(probability, v128.load(value, 32), o2);
    o3 = multiplyAdd(probability, v128.load(value, 48), o3);
    value += step;
  }
  v128.store(o, o0);
  v128.store(o, o1, 16);
  v128.store(o, o2, 32);
  v128.store(o, o3, 48);
}

function mixEight(end: usize, step: usize, p: usize, v: usize, o: usize): void {
  let o0 = f32x4.splat(0),
    o1 = f32x4.splat(0);
  let value = v;
  for (let j: usize = 0; j < end; j += FLOAT) {
    const probability = v128.load32_splat(p + j);
    o0 = multiplyAdd(probability, v128.load(value), o0);
    o1 = multiplyAdd(probability, v128.load(value, 16), o1);
    value += step;
  }
  v128.store(o, o0);
  v128.store(o, o1, 16);
}

// Two outputs of sixteen at once: eight sums hide the latency of the additions.
function mixTwoSixteens(
  length: usize,
  step: usize,
  p: usize,
  v: usize,
  o: usize,
  otherP: usize,
  otherV: usize,
  otherO: usize,
): void {
  let o0 = f32x4.splat(0),
    o1 = f32x4.splat(0),
    o2 = f32x4.splat(0),
    o3 = f32x4.splat(0);
  let o4 = f32x4.splat(0),
    o5 = f32x4.splat(0),
    o6 = f32x4.splat(0),
    o7 = f32x4.splat(0);
  let value = v;
  let otherValue = otherV;
  for (let j: usize = 0; j < length; j += FLOAT) {
    const probability = v128.load32_splat(p + j);
    o0 = multiplyAdd(probability, v128.load(value), o0);
    o1 = multiplyAdd(probability, v128.load(value, 16), o1);
    o2 = multiplyAdd(probability, v128.load(value, 32), o2);
    o3 = multiplyAdd(probability, v128.load(value, 48), o3);
    const otherProbability = v128.load32_splat(otherP + j);
    o4 = multiplyAdd(otherProbability, v128.load(otherValue), o4);
    o5 = multiplyAdd(otherProbability, v128.load(otherValue, 16), o5);
    o6 = multiplyAdd(otherProbability, v128.load(otherValue, 32), o6);
    o7 = multiplyAdd(otherProbability, v128.load(otherValue, 48), o7);
    value += step;
    otherValue += step;
  }
  v128.store(o, o0);
  v128.store(o, o1, 16);
  v128.store(o, o2, 32);
  v128.store(o, o3, 48);
  v128.store(otherO, o4);
  v128.store(otherO, o5, 16);
  v128.store(otherO, o6, 32);
  v128.store(otherO, o7, 48);
}

function mixHead(bytes: usize, end: usize, step: usize, p: usize, v: usize, o: usize): void {
  let i: usize = 0;
  for (; i + 128 <= bytes; i += 128) mixTwoSixteens(end, step, p, v + i, o + i, p, v + i + 64, o + i + 64);
  for (; i + 64 <= bytes; i += 64) mixSixteen(end, step, p, v + i, o + i);
  if (i < bytes) mixEight(end, step, p, v + i, o + i);
}

// A cache holds, position after position, the keys and values of all layers: `step` bytes a position, this
// layer's at `offset`. CACHE[r] is the byte address of the cache of row r's sequence.
export function storeInCache(
  R: i32,
  D: i32,
  X: usize,
  CACHE: usize,
  offset: usize,
  step: usize,
  POSITION: usize,
): void {
  const line = <usize>D * FLOAT;
  for (let r: usize = 0; r < <usize>R; r++) {
    const at = <usize>i32.load(CACHE + r * FLOAT) + offset + <usize>i32.load(POSITION + r * FLOAT) * step;
    memory.copy(at, X + r * line, line);
  }
}

// Each row attends to its own cache, up to and including its position. SCRATCH has room for `heads` times 8 floats more than
// the longest row.
export function attendCache(
  R: i32,
  heads: i32,
  keyHeads: i32,
  width: i32,
  Q: usize,
  CACHE: usize,
  keys: usize,
  values: usize,
  step: usize,
  POSITION: usize,
  O: usize,
  SCRATCH: usize,
): void {
  const bytes = <usize>width * FLOAT;
  const rowBytes = <usize>heads * bytes;
  const factor: f32 = <f32>1 / sqrt<f32>(<f32>width);
  const shared = heads / keyHeads;
  const isPaired = bytes == 64 && (heads & 1) == 0;
  for (let r: usize = 0; r < <usize>R; r++) {
    const cache = <usize>i32.load(CACHE + r * FLOAT);
    const length = i32.load(POSITION + r * FLOAT) + 1;
    const end = <usize>length * FLOAT;
    const line = ((end + 15) & ~15) + VECTOR;
    const q = Q + r * rowBytes;
    if (bytes == 64 && shared == 1) scoreSixteens(length, rowBytes, step, q, cache + keys, SCRATCH, line);
    else scoreKeys(length, keyHeads, shared, bytes, step, q, cache + keys, SCRATCH, line);
    softmaxHeads(heads, length, SCRATCH, line, factor);
    let o = O + r * rowBytes;
    let p = SCRATCH;
    const v = cache + values;
    for (let h = 0; h < heads; h++) {
      const value = v + <usize>(h / shared) * bytes;
      if (isPaired) {
        h++;
        const other = v + <usize>(h / shared) * bytes;
        mixTwoSixteens(end, step, p, value, o, p + line, other, o + bytes);
        p += line;
        o += bytes;
      } else mixHead(bytes, end, step, p, value, o);
      p += line;
      o += bytes;
    }
  }
}
