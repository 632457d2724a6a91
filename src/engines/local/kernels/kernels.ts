// CPU arithmetic of the local engine, in AssemblyScript. Built by scripts/build-kernels.mjs into
// kernels.wasm (plain SIMD) and kernels-fma.wasm (relaxed SIMD, fused multiply-add).
//
// Everything works on one imported memory. Pointers are byte offsets, matrices are row-major float32 and
// widths are multiples of 8. A row's result never depends on which other rows are in the call: that is what
// makes sampling independent of its batch.

import { scale } from './arrays';
import { FLOAT, LOWEST, VECTOR, exponential, maxLane, sumLanes } from './simd';

export { add, copy, scale, sum, sumOfSquares, zero } from './arrays';
export { attentionBackward, attentionForward } from './attention';
export { attendCache, storeInCache } from './cache-attention';
export { drawTokens } from './drawing';
export { forwardRows } from './forward';
export { matrixProduct, packColumns, packRows, sumOfRowProducts } from './matrix-product';
export {
  gatherRows,
  normBackward,
  normForward,
  rotate,
  scatterRows,
  swigluBackward,
  swigluForward,
} from './rows';

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
    let at: usize = 0;
    do {
      const e = exponential(f32x4.sub(v128.load(p + at), shift));
      v128.store(p + at, e);
      totals = f32x4.add(totals, e);
      at += VECTOR;
    } while (at < line);
    const total = sumLanes(totals);
    f32.store(STATS + r * 8, top);
    f32.store(STATS + r * 8, total, 4);
    const inverse = f32x4.splat(<f32>1 / total);
    at = 0;
    do {
      v128.store(p + at, f32x4.mul(v128.load(p + at), inverse));
      at += VECTOR;
    } while (at < line);
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
