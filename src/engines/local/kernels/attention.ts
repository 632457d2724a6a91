import { fourRows, oneRow, packColumns } from './matrix-product';
import { FLOAT, LANES, LOWEST, VECTOR, exponential, maxLane, multiplyAdd, sumLanes } from './simd';

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
  let at: usize = 0;
  do {
    let e = exponential(f32x4.sub(v128.load(p + at), shift));
    if (at == last) e = v128.and(e, isKept);
    v128.store(p + at, e);
    totals = f32x4.add(totals, e);
    at += VECTOR;
  } while (at <= last);
  const inverse = f32x4.splat(<f32>1 / sumLanes(totals));
  at = 0;
  do {
    v128.store(p + at, f32x4.mul(v128.load(p + at), inverse));
    at += VECTOR;
  } while (at <= last);
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
