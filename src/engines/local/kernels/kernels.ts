// CPU arithmetic of the local engine, in AssemblyScript. Built by scripts/build-kernels.mjs into
// kernels.wasm (plain SIMD) and kernels-fma.wasm (relaxed SIMD, fused multiply-add).
//
// Everything works on one imported memory. Pointers are byte offsets, matrices are row-major float32 and
// widths are multiples of 8. A row's result never depends on which other rows are in the call: that is what
// makes sampling independent of its batch.

const FLOAT: usize = 4;
const VECTOR: usize = 16;
const LOWEST: f32 = -1e30;

function multiplyAdd(a: v128, b: v128, sum: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return f32x4.relaxed_madd(a, b, sum);
  return f32x4.add(sum, f32x4.mul(a, b));
}

function sumLanes(v: v128): f32 {
  return (
    f32x4.extract_lane(v, 0) +
    f32x4.extract_lane(v, 1) +
    (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
  );
}

function maxLane(v: v128): f32 {
  return max<f32>(
    max<f32>(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    max<f32>(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)),
  );
}

// Cephes-style polynomial; relative error about 1e-7.
function exponential(input: v128): v128 {
  let x = f32x4.pmin(f32x4.pmax(input, f32x4.splat(-87.3)), f32x4.splat(88.3));
  const power = f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504088896341)));
  x = f32x4.sub(x, f32x4.mul(power, f32x4.splat(0.693359375)));
  x = f32x4.sub(x, f32x4.mul(power, f32x4.splat(-2.1219444e-4)));
  let y = f32x4.splat(1.98756915e-4);
  y = multiplyAdd(y, x, f32x4.splat(1.3981999507e-3));
  y = multiplyAdd(y, x, f32x4.splat(8.3334519073e-3));
  y = multiplyAdd(y, x, f32x4.splat(4.1665795894e-2));
  y = multiplyAdd(y, x, f32x4.splat(1.6666665459e-1));
  y = multiplyAdd(y, x, f32x4.splat(5.0000001201e-1));
  y = multiplyAdd(y, f32x4.mul(x, x), f32x4.add(x, f32x4.splat(1)));
  return f32x4.mul(y, i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(power), i32x4.splat(127)), 23));
}

// ---- matrix product -------------------------------------------------------------------------------------

// Packs B[k][n] (n contiguous) into panels of 8 columns: panel, then k, then column.
export function packRows(K: i32, N: i32, B: usize, rowStride: i32, P: usize): void {
  const step = <usize>rowStride * FLOAT;
  let p = P;
  for (let n = 0; n < N; n += 8) {
    let b = B + <usize>n * FLOAT;
    for (let k = 0; k < K; k++) {
      v128.store(p, v128.load(b));
      v128.store(p, v128.load(b, 16), 16);
      b += step;
      p += 32;
    }
  }
}

function transposeFour(b: usize, step: usize, p: usize): void {
  const r0 = v128.load(b);
  const r1 = v128.load(b + step);
  const r2 = v128.load(b + 2 * step);
  const r3 = v128.load(b + 3 * step);
  const t0 = v128.shuffle<i32>(r0, r1, 0, 4, 1, 5);
  const t1 = v128.shuffle<i32>(r2, r3, 0, 4, 1, 5);
  const t2 = v128.shuffle<i32>(r0, r1, 2, 6, 3, 7);
  const t3 = v128.shuffle<i32>(r2, r3, 2, 6, 3, 7);
  v128.store(p, v128.shuffle<i64>(t0, t1, 0, 2));
  v128.store(p, v128.shuffle<i64>(t0, t1, 1, 3), 32);
  v128.store(p, v128.shuffle<i64>(t2, t3, 0, 2), 64);
  v128.store(p, v128.shuffle<i64>(t2, t3, 1, 3), 96);
}

// Packs the transpose of B[n][k] (k contiguous, a multiple of 4) into the same panels.
export function packColumns(K: i32, N: i32, B: usize, rowStride: i32, P: usize): void {
  const step = <usize>rowStride * FLOAT;
  for (let n = 0; n < N; n += 8) {
    let p = P + <usize>(n * K) * FLOAT;
    let b = B + <usize>n * step;
    for (let k = 0; k < K; k += 4) {
      transposeFour(b, step, p);
      transposeFour(b + 4 * step, step, p + VECTOR);
      b += VECTOR;
      p += 128;
    }
  }
}

// Four rows by eight columns: eight accumulators hide the latency of the additions, and more would spill.
function fourRows(
  K: i32,
  A: usize,
  rows: usize,
  columns: usize,
  P: usize,
  C: usize,
  ldc: usize,
  add: i32,
): void {
  let c00 = f32x4.splat(0),
    c01 = f32x4.splat(0),
    c10 = f32x4.splat(0),
    c11 = f32x4.splat(0);
  let c20 = f32x4.splat(0),
    c21 = f32x4.splat(0),
    c30 = f32x4.splat(0),
    c31 = f32x4.splat(0);
  let a0 = A,
    a1 = A + rows,
    a2 = A + rows * 2,
    a3 = A + rows * 3;
  let p = P;
  for (let k = 0; k < K; k++) {
    const b0 = v128.load(p),
      b1 = v128.load(p, 16);
    p += 32;
    let a = v128.load32_splat(a0);
    c00 = multiplyAdd(a, b0, c00);
    c01 = multiplyAdd(a, b1, c01);
    a0 += columns;
    a = v128.load32_splat(a1);
    c10 = multiplyAdd(a, b0, c10);
    c11 = multiplyAdd(a, b1, c11);
    a1 += columns;
    a = v128.load32_splat(a2);
    c20 = multiplyAdd(a, b0, c20);
    c21 = multiplyAdd(a, b1, c21);
    a2 += columns;
    a = v128.load32_splat(a3);
    c30 = multiplyAdd(a, b0, c30);
    c31 = multiplyAdd(a, b1, c31);
    a3 += columns;
  }
  storeRow(C, c00, c01, add);
  storeRow(C + ldc, c10, c11, add);
  storeRow(C + ldc * 2, c20, c21, add);
  storeRow(C + ldc * 3, c30, c31, add);
}

function oneRow(K: i32, A: usize, columns: usize, P: usize, C: usize, add: i32): void {
  let c0 = f32x4.splat(0),
    c1 = f32x4.splat(0);
  let a = A;
  let p = P;
  for (let k = 0; k < K; k++) {
    const value = v128.load32_splat(a);
    c0 = multiplyAdd(value, v128.load(p), c0);
    c1 = multiplyAdd(value, v128.load(p, 16), c1);
    a += columns;
    p += 32;
  }
  storeRow(C, c0, c1, add);
}

function storeRow(C: usize, c0: v128, c1: v128, add: i32): void {
  if (add) {
    v128.store(C, f32x4.add(v128.load(C), c0));
    v128.store(C, f32x4.add(v128.load(C, 16), c1), 16);
  } else {
    v128.store(C, c0);
    v128.store(C, c1, 16);
  }
}

// C[m][n] = (add ? C : 0) + sum over k of A[m][k] B[k][n]; B is packed. A is addressed by two strides, so
// that its transpose costs nothing. The order of the sum over k is the same for every row.
export function matrixProduct(
  M: i32,
  N: i32,
  K: i32,
  A: usize,
  rowStride: i32,
  columnStride: i32,
  P: usize,
  C: usize,
  ldc: i32,
  add: i32,
): void {
  const rows = <usize>rowStride * FLOAT;
  const columns = <usize>columnStride * FLOAT;
  const lineC = <usize>ldc * FLOAT;
  for (let first = 0; first < M; first += 48) {
    const last = min(M, first + 48);
    for (let n = 0; n < N; n += 8) {
      const panel = P + <usize>(n * K) * FLOAT;
      const c = C + <usize>n * FLOAT;
      let m = first;
      for (; m + 4 <= last; m += 4) {
        fourRows(K, A + <usize>m * rows, rows, columns, panel, c + <usize>m * lineC, lineC, add);
      }
      for (; m < last; m++) oneRow(K, A + <usize>m * rows, columns, panel, c + <usize>m * lineC, add);
    }
  }
}

// ---- element-wise ---------------------------------------------------------------------------------------

export function zero(count: i32, Y: usize): void {
  memory.fill(Y, 0, <usize>count * FLOAT);
}

export function copy(count: i32, Y: usize, X: usize): void {
  memory.copy(Y, X, <usize>count * FLOAT);
}

export function add(count: i32, Y: usize, X: usize): void {
  const end = <usize>count * FLOAT;
  for (let i: usize = 0; i < end; i += VECTOR)
    v128.store(Y + i, f32x4.add(v128.load(Y + i), v128.load(X + i)));
}

export function sum(count: i32, Y: usize, A: usize, B: usize): void {
  const end = <usize>count * FLOAT;
  for (let i: usize = 0; i < end; i += VECTOR)
    v128.store(Y + i, f32x4.add(v128.load(A + i), v128.load(B + i)));
}

export function scale(count: i32, Y: usize, factor: f32): void {
  const end = <usize>count * FLOAT;
  const factors = f32x4.splat(factor);
  for (let i: usize = 0; i < end; i += VECTOR) v128.store(Y + i, f32x4.mul(v128.load(Y + i), factors));
}

export function sumOfSquares(count: i32, X: usize): f64 {
  const end = <usize>count * FLOAT;
  let total: f64 = 0;
  for (let i: usize = 0; i < end; i += VECTOR) {
    const v = v128.load(X + i);
    total += <f64>sumLanes(f32x4.mul(v, v));
  }
  return total;
}

// ---- embedding ------------------------------------------------------------------------------------------

export function gatherRows(R: i32, D: i32, INDEX: usize, E: usize, Y: usize): void {
  const line = <usize>D * FLOAT;
  for (let r: usize = 0; r < <usize>R; r++) {
    memory.copy(Y + r * line, E + <usize>i32.load(INDEX + r * FLOAT) * line, line);
  }
}

export function scatterRows(R: i32, D: i32, INDEX: usize, dY: usize, dE: usize): void {
  const line = <usize>D * FLOAT;
  for (let r: usize = 0; r < <usize>R; r++) {
    add(D, dE + <usize>i32.load(INDEX + r * FLOAT) * line, dY + r * line);
  }
}

// ---- RMSNorm --------------------------------------------------------------------------------------------

export function normForward(
  R: i32,
  D: i32,
  X: usize,
  W: usize,
  Y: usize,
  INVERSE: usize,
  epsilon: f32,
): void {
  const line = <usize>D * FLOAT;
  for (let r: usize = 0; r < <usize>R; r++) {
    const x = X + r * line;
    const y = Y + r * line;
    let squares = f32x4.splat(0);
    for (let i: usize = 0; i < line; i += VECTOR) {
      const v = v128.load(x + i);
      squares = multiplyAdd(v, v, squares);
    }
    const inverse: f32 = <f32>1 / sqrt<f32>(sumLanes(squares) / <f32>D + epsilon);
    f32.store(INVERSE + r * FLOAT, inverse);
    const factor = f32x4.splat(inverse);
    for (let i: usize = 0; i < line; i += VECTOR) {
      v128.store(y + i, f32x4.mul(f32x4.mul(v128.load(x + i), factor), v128.load(W + i)));
    }
  }
}

// Adds to dX, and to dW unless it is 0.
export function normBackward(
  R: i32,
  D: i32,
  X: usize,
  W: usize,
  INVERSE: usize,
  dY: usize,
  dX: usize,
  dW: usize,
): void {
  const line = <usize>D * FLOAT;
  for (let r: usize = 0; r < <usize>R; r++) {
    const x = X + r * line;
    const dy = dY + r * line;
    const dx = dX + r * line;
    const inverse = f32.load(INVERSE + r * FLOAT);
    const factor = f32x4.splat(inverse);
    let dots = f32x4.splat(0);
    for (let i: usize = 0; i < line; i += VECTOR) {
      dots = multiplyAdd(f32x4.mul(v128.load(dy + i), v128.load(W + i)), v128.load(x + i), dots);
    }
    const shift = f32x4.splat((sumLanes(dots) * inverse * inverse * inverse) / <f32>D);
    for (let i: usize = 0; i < line; i += VECTOR) {
      const g = v128.load(dy + i);
      const v = v128.load(x + i);
      const direct = f32x4.mul(f32x4.mul(g, v128.load(W + i)), factor);
      v128.store(dx + i, f32x4.add(v128.load(dx + i), f32x4.sub(direct, f32x4.mul(shift, v))));
      if (dW) v128.store(dW + i, multiplyAdd(g, f32x4.mul(v, factor), v128.load(dW + i)));
    }
  }
}

// ---- SwiGLU: H = silu(A) * B ----------------------------------------------------------------------------

export function swigluForward(count: i32, A: usize, B: usize, H: usize): void {
  const end = <usize>count * FLOAT;
  const one = f32x4.splat(1);
  for (let i: usize = 0; i < end; i += VECTOR) {
    const a = v128.load(A + i);
    const sigmoid = f32x4.div(one, f32x4.add(one, exponential(f32x4.neg(a))));
    v128.store(H + i, f32x4.mul(f32x4.mul(a, sigmoid), v128.load(B + i)));
  }
}

export function swigluBackward(count: i32, A: usize, B: usize, dH: usize, dA: usize, dB: usize): void {
  const end = <usize>count * FLOAT;
  const one = f32x4.splat(1);
  for (let i: usize = 0; i < end; i += VECTOR) {
    const a = v128.load(A + i);
    const g = v128.load(dH + i);
    const sigmoid = f32x4.div(one, f32x4.add(one, exponential(f32x4.neg(a))));
    const silu = f32x4.mul(a, sigmoid);
    const slope = f32x4.add(sigmoid, f32x4.mul(silu, f32x4.sub(one, sigmoid)));
    v128.store(dB + i, f32x4.mul(g, silu));
    v128.store(dA + i, f32x4.mul(f32x4.mul(g, v128.load(B + i)), slope));
  }
}

// ---- rotary position embedding --------------------------------------------------------------------------

// Rotates the pairs (i, i + width / 2) of every head in place; direction -1 is the inverse, which is also the gradient.
export function rotate(
  R: i32,
  heads: i32,
  width: i32,
  POSITION: usize,
  COS: usize,
  SIN: usize,
  X: usize,
  direction: f32,
): void {
  const half = <usize>(width >> 1) * FLOAT;
  const sign = f32x4.splat(direction);
  let x = X;
  for (let r: usize = 0; r < <usize>R; r++) {
    const row = <usize>i32.load(POSITION + r * FLOAT) * half;
    for (let h = 0; h < heads; h++) {
      for (let i: usize = 0; i < half; i += VECTOR) {
        const c = v128.load(COS + row + i);
        const s = f32x4.mul(sign, v128.load(SIN + row + i));
        const a = v128.load(x + i);
        const b = v128.load(x + half + i);
        v128.store(x + i, f32x4.sub(f32x4.mul(a, c), f32x4.mul(b, s)));
        v128.store(x + half + i, f32x4.add(f32x4.mul(b, c), f32x4.mul(a, s)));
      }
      x += 2 * half;
    }
  }
}

// ---- attention ------------------------------------------------------------------------------------------

function dot(bytes: usize, a: usize, b: usize): f32 {
  let total = f32x4.splat(0);
  for (let i: usize = 0; i < bytes; i += VECTOR)
    total = multiplyAdd(v128.load(a + i), v128.load(b + i), total);
  return sumLanes(total);
}

function addScaled(bytes: usize, y: usize, x: usize, factor: f32): void {
  const factors = f32x4.splat(factor);
  for (let i: usize = 0; i < bytes; i += VECTOR) {
    v128.store(y + i, multiplyAdd(factors, v128.load(x + i), v128.load(y + i)));
  }
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
  let highest = LOWEST;
  let key = k;
  for (let j: usize = 0; j < end; j += FLOAT) {
    const score = dot(bytes, q, key) * factor;
    f32.store(p + j, score);
    highest = max<f32>(highest, score);
    key += step;
  }
  const padded = (end + 15) & ~15;
  for (let j = end; j < padded; j += FLOAT) f32.store(p + j, LOWEST);
  const shift = f32x4.splat(highest);
  let totals = f32x4.splat(0);
  for (let j: usize = 0; j < padded; j += VECTOR) {
    const e = exponential(f32x4.sub(v128.load(p + j), shift));
    v128.store(p + j, e);
    totals = f32x4.add(totals, e);
  }
  const inverse: f32 = <f32>1 / sumLanes(totals);
  memory.fill(o, 0, bytes);
  let value = v;
  for (let j: usize = 0; j < end; j += FLOAT) {
    const probability = f32.load(p + j) * inverse;
    f32.store(p + j, probability);
    addScaled(bytes, o, value, probability);
    value += step;
  }
}

// Causal attention over one sequence of T rows. PROBS holds heads x T rows of `line` floats (line >= T, a multiple of 4).
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
): void {
  const bytes = <usize>width * FLOAT;
  const queryStep = <usize>heads * bytes;
  const keyStep = <usize>keyHeads * bytes;
  const factor: f32 = <f32>1 / sqrt<f32>(<f32>width);
  const shared = heads / keyHeads;
  for (let h = 0; h < heads; h++) {
    const query = <usize>h * bytes;
    const key = <usize>(h / shared) * bytes;
    for (let i = 0; i < T; i++) {
      const row = query + <usize>i * queryStep;
      const probs = PROBS + <usize>((h * T + i) * line) * FLOAT;
      attendRow(i + 1, bytes, keyStep, Q + row, K + key, V + key, O + row, probs, factor);
    }
  }
}

// Adds to dQ, dK and dV. SCRATCH has room for T floats.
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
  const factor: f32 = <f32>1 / sqrt<f32>(<f32>width);
  const shared = heads / keyHeads;
  for (let h = 0; h < heads; h++) {
    const key = <usize>(h / shared) * bytes;
    for (let i = 0; i < T; i++) {
      const row = <usize>h * bytes + <usize>i * queryStep;
      const probs = PROBS + <usize>((h * T + i) * line) * FLOAT;
      const end = <usize>(i + 1) * FLOAT;
      let expected: f32 = 0;
      let at = key;
      for (let j: usize = 0; j < end; j += FLOAT) {
        const probability = f32.load(probs + j);
        const slope = dot(bytes, dO + row, V + at);
        f32.store(SCRATCH + j, slope);
        expected += probability * slope;
        addScaled(bytes, dV + at, dO + row, probability);
        at += keyStep;
      }
      at = key;
      for (let j: usize = 0; j < end; j += FLOAT) {
        const slope = f32.load(probs + j) * (f32.load(SCRATCH + j) - expected) * factor;
        addScaled(bytes, dQ + row, K + at, slope);
        addScaled(bytes, dK + at, Q + row, slope);
        at += keyStep;
      }
    }
  }
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

// ---- softmax and its gradient ---------------------------------------------------------------------------

// PROBS[r] = softmax(INVERSE_TEMPERATURE[r] * Z[r]); STATS[r] = (highest scaled logit, sum of exponentials).
export function softmaxRows(
  R: i32,
  N: i32,
  Z: usize,
  INVERSE_TEMPERATURE: usize,
  PROBS: usize,
  STATS: usize,
): void {
  const line = <usize>N * FLOAT;
  for (let r: usize = 0; r < <usize>R; r++) {
    const z = Z + r * line;
    const p = PROBS + r * line;
    const factor = v128.load32_splat(INVERSE_TEMPERATURE + r * FLOAT);
    let highest = f32x4.splat(LOWEST);
    for (let i: usize = 0; i < line; i += VECTOR) {
      const scaled = f32x4.mul(v128.load(z + i), factor);
      v128.store(p + i, scaled);
      highest = f32x4.pmax(highest, scaled);
    }
    const top = maxLane(highest);
    const shift = f32x4.splat(top);
    let totals = f32x4.splat(0);
    for (let i: usize = 0; i < line; i += VECTOR) {
      const e = exponential(f32x4.sub(v128.load(p + i), shift));
      v128.store(p + i, e);
      totals = f32x4.add(totals, e);
    }
    const total = sumLanes(totals);
    f32.store(STATS + r * 8, top);
    f32.store(STATS + r * 8, total, 4);
    const inverse = f32x4.splat(<f32>1 / total);
    for (let i: usize = 0; i < line; i += VECTOR) v128.store(p + i, f32x4.mul(v128.load(p + i), inverse));
  }
}

// Probabilities become the gradient of the logits, given the loss's slope in each row's target log-probability.
export function softmaxBackward(R: i32, N: i32, PROBS: usize, TARGET: usize, SLOPE: usize): void {
  const line = <usize>N * FLOAT;
  for (let r: usize = 0; r < <usize>R; r++) {
    const p = PROBS + r * line;
    const slope = f32.load(SLOPE + r * FLOAT);
    scale(N, p, -slope);
    const target = p + <usize>i32.load(TARGET + r * FLOAT) * FLOAT;
    f32.store(target, f32.load(target) + slope);
  }
}

// ---- AdamW ----------------------------------------------------------------------------------------------

// Whether the step leaves every weight and moment finite. A trial changes nothing.
export function adamStep(
  count: i32,
  W: usize,
  G: usize,
  M: usize,
  S: usize,
  rate: f32,
  beta1: f32,
  beta2: f32,
  epsilon: f32,
  decay: f32,
  correction1: f32,
  correction2: f32,
  clip: f32,
  isTrial: bool,
): bool {
  const end = <usize>count * FLOAT;
  const keep1 = f32x4.splat(beta1),
    take1 = f32x4.splat(1 - beta1);
  const keep2 = f32x4.splat(beta2),
    take2 = f32x4.splat(1 - beta2);
  const step = f32x4.splat(rate / correction1);
  const unbias = f32x4.splat(1 / correction2);
  const floor = f32x4.splat(epsilon);
  const factor = f32x4.splat(clip);
  const shrink = f32x4.splat(1 - rate * decay);
  const nothing = f32x4.splat(0);
  // Zero times a finite number is zero; times anything else it is NaN, which stays in the sum.
  let defects = nothing;
  for (let i: usize = 0; i < end; i += VECTOR) {
    const g = f32x4.mul(v128.load(G + i), factor);
    const m = f32x4.add(f32x4.mul(keep1, v128.load(M + i)), f32x4.mul(take1, g));
    const s = f32x4.add(f32x4.mul(keep2, v128.load(S + i)), f32x4.mul(take2, f32x4.mul(g, g)));
    const change = f32x4.div(f32x4.mul(step, m), f32x4.add(f32x4.sqrt(f32x4.mul(s, unbias)), floor));
    const w = f32x4.sub(f32x4.mul(v128.load(W + i), shrink), change);
    if (isTrial) {
      const found = f32x4.add(f32x4.mul(m, nothing), f32x4.mul(s, nothing));
      defects = f32x4.add(defects, f32x4.add(found, f32x4.mul(w, nothing)));
      continue;
    }
    v128.store(M + i, m);
    v128.store(S + i, s);
    v128.store(W + i, w);
  }
  return sumLanes(defects) == 0;
}
