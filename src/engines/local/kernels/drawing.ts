// Draws from distributions over the vocabulary.

import { FLOAT } from './simd';

// @ts-ignore: decorator
@inline
function probability(row: usize, token: usize): f64 {
  return <f64>f32.load(row + token);
}

function firstBeyond(bytes: usize, row: usize, share: f64): i32 {
  let left = share;
  for (let token: usize = 0; token < bytes; token += FLOAT) {
    left -= probability(row, token);
    if (left < 0) return <i32>(token / FLOAT);
  }
  // Rounding may leave a little: the last that can be drawn takes it.
  for (let token = bytes; token > 0; token -= FLOAT) {
    if (f32.load(row + token - FLOAT) > 0) return <i32>(token / FLOAT) - 1;
  }
  return 0;
}

// TOKEN[r] is where the sum of row r of PROBS, in order, first passes the share UNIFORM[r] (a double) of the whole.
// Four rows at a time hide the latency of sums that must be taken in order.
export function drawTokens(R: i32, N: i32, PROBS: usize, UNIFORM: usize, TOKEN: usize): void {
  const bytes = <usize>N * FLOAT;
  for (let r = 0; r < R; r += 4) {
    const left = R - r - 1;
    const row0 = PROBS + <usize>r * bytes;
    const row1 = row0 + <usize>min(1, left) * bytes;
    const row2 = row0 + <usize>min(2, left) * bytes;
    const row3 = row0 + <usize>min(3, left) * bytes;
    let total0: f64 = 0,
      total1: f64 = 0,
      total2: f64 = 0,
      total3: f64 = 0;
    for (let token: usize = 0; token < bytes; token += FLOAT) {
      total0 += probability(row0, token);
      total1 += probability(row1, token);
      total2 += probability(row2, token);
      total3 += probability(row3, token);
    }
    const uniforms = UNIFORM + <usize>r * 8;
    const tokens = TOKEN + <usize>r * FLOAT;
    i32.store(tokens, firstBeyond(bytes, row0, f64.load(uniforms) * total0));
    if (left > 0) i32.store(tokens, firstBeyond(bytes, row1, f64.load(uniforms, 8) * total1), 4);
    if (left > 1) i32.store(tokens, firstBeyond(bytes, row2, f64.load(uniforms, 16) * total2), 8);
    if (left > 2) i32.store(tokens, firstBeyond(bytes, row3, f64.load(uniforms, 24) * total3), 12);
  }
}
