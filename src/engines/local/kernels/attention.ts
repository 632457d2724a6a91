import { fourRows, oneRow, packColumns } from './matrix-product';
import { FLOAT, LOWEST, VECTOR, exponential, maxLane, multiplyAdd, sumLanes } from './simd';

// ---- whole sequences ------------------------------------------------------------------------------------

// The products of a head are matrix products over blocks of four rows. A block leaves out the keys after its last
// row; within it, probabilities of later keys are exact zeros, so that they add nothing.

// Panels of 8 columns of T rows `step` bytes apart, with rows of zeros up to `padded`.
function packHeadRows(T: i32, padded: i32, width: i32, X: usize, step: usize, P: usize): void {
  let p = P;
  for (let n = 0; n < width; n += 8) {
    let x = X + <usize>n * FLOAT;
    for (let k = 0; k < T; k++) {
      v128.store(p, v128.load(x));
      v128.store(p, v128.load(x, 16), 16);
      x += step;
      p += 32;
    }
    for (let k = T; k < padded; k++) {
      v128.store(p, f32x4.splat(0));
      v128.store(p, f32x4.splat(0), 16);
      p += 32;
    }
  }
}

// The transpose of T rows, with columns of zeros up to a multiple of 8. TAIL has room for 8 rows.
function packHeadColumns(T: i32, width: i32, X: usize, step: usize, P: usize, TAIL: usize): void {
  const whole = T & ~7;
  packColumns(width, whole, X, <i32>(step / FLOAT), P);
  if (whole == T) return;
  const bytes = <usize>width * FLOAT;
  memory.fill(TAIL, 0, 8 * bytes);
  for (let k = whole; k < T; k++) {
    memory.copy(TAIL + <usize>(k - whole) * bytes, X + <usize>k * step, bytes);
  }
  packColumns(width, 8, TAIL, width, P + <usize>whole * bytes);
}

// C = A B for up to four rows of A and `columns` columns in panels `panelStep` bytes apart.
// @ts-ignore: decorator
@inline
function multiplyBlock(
  count: i32,
  columns: i32,
  K: i32,
  A: usize,
  rows: usize,
  steps: usize,
  P: usize,
  panelStep: usize,
  C: usize,
  lineC: usize,
  add: i32,
): void {
  let panel = P;
  let c = C;
  for (let n = 0; n < columns; n += 8) {
    if (count == 4) fourRows(K, A, rows, steps, panel, c, lineC, add);
    else {
      for (let r: usize = 0; r < <usize>count; r++) {
        oneRow(K, A + r * rows, steps, panel, c + r * lineC, add);
      }
    }
    panel += panelStep;
    c += 32;
  }
}

const LANES: v128 = i32x4(0, 1, 2, 3);

// Scores become probabilities; those after `length` become zeros, up to a multiple of 4.
function softmaxRow(length: i32, p: usize, factor: f32): void {
  const last = <usize>((length - 1) & ~3) * FLOAT;
  const isKept = i32x4.gt_s(i32x4.splat(length - ((length - 1) & ~3)), LANES);
  const factors = f32x4.splat(factor);
  v128.store(p + last, v128.bitselect(v128.load(p + last), f32x4.splat(LOWEST), isKept));
  let highest = f32x4.splat(LOWEST);
  for (let j: usize = 0; j <= last; j += VECTOR) {
    const score = f32x4.mul(v128.load(p + j), factors);
    v128.store(p + j, score);
    highest = f32x4.pmax(highest, score);
  }
  const shift = f32x4.splat(maxLane(highest));
  let totals = f32x4.splat(0);
  for (let j: usize = 0; j < last; j += VECTOR) {
    const e = exponential(f32x4.sub(v128.load(p + j), shift));
    v128.store(p + j, e);
    totals = f32x4.add(totals, e);
  }
  const tail = v128.and(exponential(f32x4.sub(v128.load(p + last), shift)), isKept);
  v128.store(p + last, tail);
  const inverse = f32x4.splat(<f32>1 / sumLanes(f32x4.add(totals, tail)));
  for (let j: usize = 0; j <= last; j += VECTOR) v128.store(p + j, f32x4.mul(v128.load(p + j), inverse));
}

// Causal attention over one sequence of T rows. PROBS holds heads x T rows of `line` floats (line >= T, a multiple
// of 8). SCRATCH has room for 2 width (T + 7) + 8 width floats.
export function attentionForward(
  T: i32,
  heads: i32,
  keyHeads: i32,
  width: i32,
  Q: usize,
  K: usize,
  V: usize,
  O: usize,
  PROBS: usize,
  line: i32,
  SCRATCH: usize,
): void {
  const bytes = <usize>width * FLOAT;
  const queryStep = <usize>heads * bytes;
  const keyStep = <usize>keyHeads * bytes;
  const lineBytes = <usize>line * FLOAT;
  const factor: f32 = <f32>1 / sqrt<f32>(<f32>width);
  const shared = heads / keyHeads;
  const padded = (T + 3) & ~3;
  const tail = SCRATCH;
  const keys = tail + 8 * bytes;
  const values = keys + <usize>((T + 7) & ~7) * bytes;
  for (let h = 0; h < heads; h++) {
    const key = <usize>(h / shared) * bytes;
    if (h % shared == 0) {
      packHeadColumns(T, width, K + key, keyStep, keys, tail);
      packHeadRows(T, padded, width, V + key, keyStep, values);
    }
    for (let i = 0; i < T; i += 4) {
      const count = min(4, T - i);
      const row = <usize>h * bytes + <usize>i * queryStep;
      const probs = PROBS + <usize>(h * T + i) * lineBytes;
      multiplyBlock(count, i + 4, width, Q + row, queryStep, FLOAT, keys, bytes * 8, probs, lineBytes, 0);
      for (let r = 0; r < count; r++) softmaxRow(i + r + 1, probs + <usize>r * lineBytes, factor);
      const step = <usize>padded * 32;
      multiplyBlock(count, width, i + 4, probs, lineBytes, FLOAT, values, step, O + row, queryStep, 0);
    }
  }
}

// Slopes of the probabilities become slopes of the scores.
function softmaxRowBackward(length: i32, p: usize, d: usize, factor: f32): void {
  const end = <usize>((length + 3) & ~3) * FLOAT;
  let dots = f32x4.splat(0);
  for (let j: usize = 0; j < end; j += VECTOR) {
    dots = multiplyAdd(v128.load(p + j), v128.load(d + j), dots);
  }
  const expected = f32x4.splat(sumLanes(dots));
  const factors = f32x4.splat(factor);
  for (let j: usize = 0; j < end; j += VECTOR) {
    const slope = f32x4.mul(v128.load(p + j), f32x4.sub(v128.load(d + j), expected));
    v128.store(d + j, f32x4.mul(slope, factors));
  }
}

// Writes dQ, dK and dV. SCRATCH has room for T line + 4 width (T + 7) + 8 width floats.
export function attentionBackward(
  T: i32,
  heads: i32,
  keyHeads: i32,
  width: i32,
  Q: usize,
  K: usize,
  V: usize,
  PROBS: usize,
  line: i32,
  dO: usize,
  dQ: usize,
  dK: usize,
  dV: usize,
  SCRATCH: usize,
): void {
  const bytes = <usize>width * FLOAT;
  const queryStep = <usize>heads * bytes;
  const keyStep = <usize>keyHeads * bytes;
  const lineBytes = <usize>line * FLOAT;
  const factor: f32 = <f32>1 / sqrt<f32>(<f32>width);
  const shared = heads / keyHeads;
  const padded = (T + 3) & ~3;
  const slopes = SCRATCH;
  const tail = slopes + <usize>T * lineBytes;
  const values = tail + 8 * bytes;
  const keys = values + <usize>((T + 7) & ~7) * bytes;
  const queries = keys + <usize>padded * bytes;
  const outputs = queries + <usize>padded * bytes;
  const step = <usize>padded * 32;
  for (let h = 0; h < heads; h++) {
    const key = <usize>(h / shared) * bytes;
    const query = <usize>h * bytes;
    const isAdded = h % shared == 0 ? 0 : 1;
    if (!isAdded) {
      packHeadColumns(T, width, V + key, keyStep, values, tail);
      packHeadRows(T, padded, width, K + key, keyStep, keys);
    }
    packHeadRows(T, padded, width, Q + query, queryStep, queries);
    packHeadRows(T, padded, width, dO + query, queryStep, outputs);
    const headProbs = PROBS + <usize>(h * T) * lineBytes;
    for (let i = 0; i < T; i += 4) {
      const count = min(4, T - i);
      const row = query + <usize>i * queryStep;
      const probs = headProbs + <usize>i * lineBytes;
      const d = slopes + <usize>i * lineBytes;
      multiplyBlock(count, i + 4, width, dO + row, queryStep, FLOAT, values, bytes * 8, d, lineBytes, 0);
      for (let r = 0; r < count; r++) {
        const at = <usize>r * lineBytes;
        softmaxRowBackward(i + r + 1, probs + at, d + at, factor);
      }
      multiplyBlock(count, width, i + 4, d, lineBytes, FLOAT, keys, step, dQ + row, queryStep, 0);
    }
    // A key is seen by the rows from its own on.
    for (let j = 0; j < T; j += 4) {
      const count = min(4, T - j);
      const at = <usize>j * (lineBytes + FLOAT);
      const row = key + <usize>j * keyStep;
      const skipped = <usize>j * 32;
      const probs = headProbs + at;
      const d = slopes + at;
      const v = outputs + skipped;
      const k = queries + skipped;
      multiplyBlock(count, width, T - j, probs, FLOAT, lineBytes, v, step, dV + row, keyStep, isAdded);
      multiplyBlock(count, width, T - j, d, FLOAT, lineBytes, k, step, dK + row, keyStep, isAdded);
    }
  }
}

// ---- caches ---------------------------------------------------------------------------------------------

// The lanes of each of four vectors, summed.
// @ts-ignore: decorator
@inline
function sumFour(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(v128.shuffle<i32>(a, b, 0, 1, 4, 5), v128.shuffle<i32>(a, b, 2, 3, 6, 7));
  const cd = f32x4.add(v128.shuffle<i32>(c, d, 0, 1, 4, 5), v128.shuffle<i32>(c, d, 2, 3, 6, 7));
  return f32x4.add(v128.shuffle<i32>(ab, cd, 0, 2, 4, 6), v128.shuffle<i32>(ab, cd, 1, 3, 5, 7));
}

// Four keys at a time; past the end the last key stands in for those that are not there.
function scoreKeys(length: i32, bytes: usize, step: usize, q: usize, k: usize, p: usize): void {
  for (let j = 0; j < length; j += 4) {
    const left = length - j - 1;
    const k0 = k + <usize>j * step;
    const k1 = k0 + <usize>min(1, left) * step;
    const k2 = k0 + <usize>min(2, left) * step;
    const k3 = k0 + <usize>min(3, left) * step;
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
    v128.store(p + <usize>j * FLOAT, sumFour(s0, s1, s2, s3));
  }
}

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

// One query against `length` keys. The probabilities stay in p, which has room for a multiple of 4.
function attendRow(
  length: i32,
  bytes: usize,
  step: usize,
  q: usize,
  k: usize,
  v: usize,
  o: usize,
  p: usize,
  factor: f32,
): void {
  const end = <usize>length * FLOAT;
  scoreKeys(length, bytes, step, q, k, p);
  softmaxRow(length, p, factor);
  let i: usize = 0;
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

// Each row attends to its own cache, up to and including its position. SCRATCH has room for the longest row.
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
  const line = <usize>heads * bytes;
  const factor: f32 = <f32>1 / sqrt<f32>(<f32>width);
  const shared = heads / keyHeads;
  for (let r: usize = 0; r < <usize>R; r++) {
    const cache = <usize>i32.load(CACHE + r * FLOAT);
    const length = i32.load(POSITION + r * FLOAT) + 1;
    for (let h = 0; h < heads; h++) {
      const row = r * line + <usize>h * bytes;
      const head = cache + <usize>(h / shared) * bytes;
      attendRow(length, bytes, step, Q + row, head + keys, head + values, O + row, SCRATCH, factor);
    }
  }
}
