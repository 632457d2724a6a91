// How much a row attends to each of the keys in a cache.

import { FLOAT, LANES, LOWEST, VECTOR, exponential, maxLane, multiplyAdd, sumLanes } from './simd';

// `softmaxRow` for rows `line` bytes apart, the last float of each being free. Taken one pass after the other, the rows hide
// the latency of one another's sums.
export function softmaxHeads(heads: i32, length: i32, p: usize, line: usize, factor: f32): void {
  const last = <usize>((length - 1) & ~3) * FLOAT;
  const isKept = i32x4.gt_s(i32x4.splat(length - ((length - 1) & ~3)), LANES);
  const factors = f32x4.splat(factor);
  const end = p + <usize>heads * line;
  for (let row = p; row < end; row += line) {
    v128.store(row + last, v128.bitselect(v128.load(row + last), f32x4.splat(LOWEST), isKept));
    let highest = f32x4.splat(LOWEST);
    for (let j: usize = 0; j <= last; j += VECTOR) {
      highest = f32x4.pmax(highest, f32x4.mul(v128.load(row + j), factors));
    }
    f32.store(row + line - FLOAT, maxLane(highest));
  }
  let row = p;
  do {
    const shift = v128.load32_splat(row + line - FLOAT);
    let totals = f32x4.splat(0);
    let j: usize = 0;
    do {
      const scaled = f32x4.mul(v128.load(row + j), factors);
      let e = exponential(f32x4.sub(scaled, shift));
      if (j == last) e = v128.and(e, isKept);
      v128.store(row + j, e);
      totals = f32x4.add(totals, e);
      j += VECTOR;
    } while (j <= last);
    f32.store(row + line - FLOAT, sumLanes(totals));
    row += line;
  } while (row < end);
  row = p;
  do {
    const inverse = f32x4.splat(<f32>1 / f32.load(row + line - FLOAT));
    let j: usize = 0;
    do {
      v128.store(row + j, f32x4.mul(v128.load(row + j), inverse));
      j += VECTOR;
    } while (j <= last);
    row += line;
  } while (row < end);
}

// The lanes of each of four vectors, summed.
// @ts-ignore: decorator
@inline
function sumFour(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(v128.shuffle<i32>(a, b, 0, 1, 4, 5), v128.shuffle<i32>(a, b, 2, 3, 6, 7));
  const cd = f32x4.add(v128.shuffle<i32>(c, d, 0, 1, 4, 5), v128.shuffle<i32>(c, d, 2, 3, 6, 7));
  return f32x4.add(v128.shuffle<i32>(ab, cd, 0, 2, 4, 6), v128.shuffle<i32>(ab, cd, 1, 3, 5, 7));
}

// @ts-ignore: decorator
@inline
function scoreFour(bytes: usize, q: usize, k0: usize, k1: usize, k2: usize, k3: usize, p: usize): void {
  let s0 = f32x4.splat(0),
    s1 = f32x4.splat(0),
    s2 = f32x4.splat(0),
    s3 = f32x4.splat(0);
  for (let i: usize = 0; i < bytes; i += VECTOR) {
    const query = v128.load(q + i);
    s0 = multiplyAdd(query, v128.load(k0 + i), s0);
    s1 = multiplyAdd(query, v128.load(k1 + i), s1);
    s2 = multiplyAdd(query, v128.load(k2 + i), s2);
    s3 = multiplyAdd(query, v128.load(k3 + i), s3);
  }
  v128.store(p, sumFour(s0, s1, s2, s3));
}

// `scoreFour` of sixteen floats: no loop of four turns for each head of each key.
// @ts-ignore: decorator
@inline
function scoreFourOfSixteen(q: usize, k0: usize, k1: usize, k2: usize, k3: usize, p: usize): void {
  const zero = f32x4.splat(0);
  let query = v128.load(q);
  let s0 = multiplyAdd(query, v128.load(k0), zero);
  let s1 = multiplyAdd(query, v128.load(k1), zero);
  let s2 = multiplyAdd(query, v128.load(k2), zero);
  let s3 = multiplyAdd(query, v128.load(k3), zero);
  query = v128.load(q, 16);
  s0 = multiplyAdd(query, v128.load(k0, 16), s0);
  s1 = multiplyAdd(query, v128.load(k1, 16), s1);
  s2 = multiplyAdd(query, v128.load(k2, 16), s2);
  s3 = multiplyAdd(query, v128.load(k3, 16), s3);
  query = v128.load(q, 32);
  s0 = multiplyAdd(query, v128.load(k0, 32), s0);
  s1 = multiplyAdd(query, v128.load(k1, 32), s1);
  s2 = multiplyAdd(query, v128.load(k2, 32), s2);
  s3 = multiplyAdd(query, v128.load(k3, 32), s3);
  query = v128.load(q, 48);
  s0 = multiplyAdd(query, v128.load(k0, 48), s0);
  s1 = multiplyAdd(query, v128.load(k1, 48), s1);
  s2 = multiplyAdd(query, v128.load(k2, 48), s2);
  s3 = multiplyAdd(query, v128.load(k3, 48), s3);
  v128.store(p, sumFour(s0, s1, s2, s3));
}

// `scoreKeys` for heads of sixteen that share no keys: with fewer places to keep count of, they all stay in registers.
export function scoreSixteens(
  length: i32,
  rowBytes: usize,
  step: usize,
  Q: usize,
  K: usize,
  p: usize,
  line: usize,
): void {
  let k0 = K;
  let scores = p;
  let left = length;
  do {
    let k1 = left > 1 ? k0 + step : k0;
    let k2 = left > 2 ? k1 + step : k1;
    let k3 = left > 3 ? k2 + step : k2;
    let i: usize = 0;
    let score = scores;
    do {
      scoreFourOfSixteen(Q + i, k0 + i, k1 + i, k2 + i, k3 + i, score);
      score += line;
      i += 64;
    } while (i < rowBytes);
    k0 += step * 4;
    scores += VECTOR;
    left -= 4;
  } while (left > 0);
}

// Four keys at a time; past the end the last key stands in for those that are not there. All heads of a key before the next
// keys: they lie together in memory.
export function scoreKeys(
  length: i32,
  keyHeads: i32,
  shared: i32,
  bytes: usize,
  step: usize,
  Q: usize,
  K: usize,
  p: usize,
  line: usize,
): void {
  const fourSteps = step * 4;
  let first = K;
  let scores = p;
  for (let j = 0; j < length; j += 4) {
    const left = length - j - 1;
    let k0 = first;
    let k1 = left > 0 ? k0 + step : k0;
    let k2 = left > 1 ? k1 + step : k1;
    let k3 = left > 2 ? k2 + step : k2;
    let q = Q;
    let score = scores;
    for (let h = 0; h < keyHeads; h++) {
      for (let s = 0; s < shared; s++) {
        if (bytes == 64) scoreFourOfSixteen(q, k0, k1, k2, k3, score);
        else scoreFour(bytes, q, k0, k1, k2, k3, score);
        q += bytes;
        score += line;
      }
      k0 += bytes;
      k1 += bytes;
      k2 += bytes;
      k3 += bytes;
    }
    first += fourSteps;
    scores += VECTOR;
  }
}
