// What a layer does to each row by itself, and the gradients of it.

import { add } from './arrays';
import { FLOAT, VECTOR, exponential, multiplyAdd, sumLanes } from './simd';

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
  if (end == 0) return;
  let i: usize = 0;
  do {
    const a = v128.load(A + i);
    const sigmoid = f32x4.div(one, f32x4.add(one, exponential(f32x4.neg(a))));
    if (SIGMOID) v128.store(SIGMOID + i, sigmoid);
    v128.store(H + i, f32x4.mul(f32x4.mul(a, sigmoid), v128.load(B + i)));
    i += VECTOR;
  } while (i < end);
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
