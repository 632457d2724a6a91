// CPU arithmetic of the local engine, in AssemblyScript. Built by scripts/build-kernels.mjs into
// kernels.wasm (plain SIMD) and kernels-fma.wasm (relaxed SIMD, fused multiply-add).
//
// Everything works on one imported memory. Pointers are byte offsets, matrices are row-major float32 and
// widths are multiples of 8. A row's result never depends on which other rows are in the call: that is what
// makes sampling independent of its batch.

import { FLOAT, LOWEST, VECTOR, exponential, maxLane, multiplyAdd, sumLanes } from './simd';

export { attendCache, attentionBackward, attentionForward, storeInCache } from './attention';
export { matrixProduct, packColumns, packRows } from './matrix-product';

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

// Keeps the sigmoids for the gradient, unless SIGMOID is 0.
export function swigluForward(count: i32, A: usize, B: usize, H: usize, SIGMOID: usize): void {
  const end = <usize>count * FLOAT;
  const one = f32x4.splat(1);
  for (let i: usize = 0; i < end; i += VECTOR) {
    const a = v128.load(A + i);
    const sigmoid = f32x4.div(one, f32x4.add(one, exponential(f32x4.neg(a))));
    if (SIGMOID) v128.store(SIGMOID + i, sigmoid);
    v128.store(H + i, f32x4.mul(f32x4.mul(a, sigmoid), v128.load(B + i)));
  }
}

export function swigluBackward(
  count: i32,
  A: usize,
  B: usize,
  SIGMOID: usize,
  dH: usize,
  dA: usize,
  dB: usize,
): void {
  const end = <usize>count * FLOAT;
  const one = f32x4.splat(1);
  for (let i: usize = 0; i < end; i += VECTOR) {
    const a = v128.load(A + i);
    const g = v128.load(dH + i);
    const sigmoid = v128.load(SIGMOID + i);
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
