// Arrays of floats, element by element.

import { FLOAT, VECTOR, sumLanes } from './simd';

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
