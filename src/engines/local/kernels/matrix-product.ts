import { FLOAT, VECTOR, multiplyAdd } from './simd';

// Packs B[k][n] (n contiguous) into panels of 8 columns: panel, then k, then column. Two panels at a time take whole cache
// lines: those of rows that are a power of two apart would be gone before the next panel came for the other half.
export function packRows(K: i32, N: i32, B: usize, rowStride: i32, P: usize): void {
  const step = <usize>rowStride * FLOAT;
  const panelStep = <usize>K * 32;
  let panel = P;
  let n = 0;
  for (; n + 16 <= N; n += 16) {
    let b = B + <usize>n * FLOAT;
    const end = panel + panelStep;
    let next = end;
    for (let p = panel; p < end; p += 32) {
      v128.store(p, v128.load(b));
      v128.store(p, v128.load(b, 16), 16);
      v128.store(next, v128.load(b, 32));
      v128.store(next, v128.load(b, 48), 16);
      b += step;
      next += 32;
    }
    panel = next;
  }
  if (n == N) return;
  let b = B + <usize>n * FLOAT;
  const end = panel + panelStep;
  for (let p = panel; p < end; p += 32) {
    v128.store(p, v128.load(b));
    v128.store(p, v128.load(b, 16), 16);
    b += step;
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
// @ts-ignore: decorator
@inline
export function fourRows(
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

export function oneRow(K: i32, A: usize, columns: usize, P: usize, C: usize, add: i32): void {
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

// @ts-ignore: decorator
@inline
function storeRow(C: usize, c0: v128, c1: v128, add: i32): void {
  if (add) {
    v128.store(C, f32x4.add(v128.load(C), c0));
    v128.store(C, f32x4.add(v128.load(C, 16), c1), 16);
  } else {
    v128.store(C, c0);
    v128.store(C, c1, 16);
  }
}

// One row by 32 columns: reading the panels side by side hides what one row's few sums cannot.
function oneWideRow(
  K: i32,
  A: usize,
  P: usize,
  panelStep: usize,
  C: usize,
  add: i32,
): void {
  let c0 = f32x4.splat(0),
    c1 = f32x4.splat(0),
    c2 = f32x4.splat(0),
    c3 = f32x4.splat(0);
  let c4 = f32x4.splat(0),
    c5 = f32x4.splat(0),
    c6 = f32x4.splat(0),
    c7 = f32x4.splat(0);
  let a = A;
  let p0 = P,
    p1 = P + panelStep,
    p2 = P + panelStep * 2,
    p3 = P + panelStep * 3;
  const end = P + panelStep;
  if (K & 1) {
    const value = v128.load32_splat(a);
    c0 = multiplyAdd(value, v128.load(p0), c0);
    c1 = multiplyAdd(value, v128.load(p0, 16), c1);
    c2 = multiplyAdd(value, v128.load(p1), c2);
    c3 = multiplyAdd(value, v128.load(p1, 16), c3);
    c4 = multiplyAdd(value, v128.load(p2), c4);
    c5 = multiplyAdd(value, v128.load(p2, 16), c5);
    c6 = multiplyAdd(value, v128.load(p3), c6);
    c7 = multiplyAdd(value, v128.load(p3, 16), c7);
    a += FLOAT;
    p0 += 32;
    p1 += 32;
    p2 += 32;
    p3 += 32;
  }
  while (p0 < end) {
    let value = v128.load32_splat(a);
    c0 = multiplyAdd(value, v128.load(p0), c0);
    c1 = multiplyAdd(value, v128.load(p0, 16), c1);
    c2 = multiplyAdd(value, v128.load(p1), c2);
    c3 = multiplyAdd(value, v128.load(p1, 16), c3);
    c4 = multiplyAdd(value, v128.load(p2), c4);
    c5 = multiplyAdd(value, v128.load(p2, 16), c5);
    c6 = multiplyAdd(value, v128.load(p3), c6);
    c7 = multiplyAdd(value, v128.load(p3, 16), c7);
    a += FLOAT;
    value = v128.load32_splat(a);
    c0 = multiplyAdd(value, v128.load(p0, 32), c0);
    c1 = multiplyAdd(value, v128.load(p0, 48), c1);
    c2 = multiplyAdd(value, v128.load(p1, 32), c2);
    c3 = multiplyAdd(value, v128.load(p1, 48), c3);
    c4 = multiplyAdd(value, v128.load(p2, 32), c4);
    c5 = multiplyAdd(value, v128.load(p2, 48), c5);
    c6 = multiplyAdd(value, v128.load(p3, 32), c6);
    c7 = multiplyAdd(value, v128.load(p3, 48), c7);
    a += FLOAT;
    p0 += 64;
    p1 += 64;
    p2 += 64;
    p3 += 64;
  }
  storeRow(C, c0, c1, add);
  storeRow(C + 32, c2, c3, add);
  storeRow(C + 64, c4, c5, add);
  storeRow(C + 96, c6, c7, add);
}

// C[m][n] = (add ? C : 0) + sum over k of A[m][k] B[k][n]; B is packed. The order of the sum over k is the same for every row.
export function matrixProduct(
  M: i32,
  N: i32,
  K: i32,
  A: usize,
  rowStride: i32,
  P: usize,
  C: usize,
  ldc: i32,
  add: i32,
): void {
  const rows = <usize>rowStride * FLOAT;
  const lineC = <usize>ldc * FLOAT;
  const panelStep = <usize>K * 32;
  const whole = M & ~3;
  // As many rows of A at a time as stay in the first-level cache beside a panel.
  const height = max(8, (6144 / K) & ~3);
  for (let first = 0; first < whole; first += height) {
    const last = min(whole, first + height);
    let panel = P;
    for (let n = 0; n < N; n += 8) {
      const c = C + <usize>n * FLOAT;
      for (let m = first; m < last; m += 4) {
        fourRows(K, A + <usize>m * rows, rows, FLOAT, panel, c + <usize>m * lineC, lineC, add);
      }
      panel += panelStep;
    }
  }
  for (let m = whole; m < M; m++) {
    const a = A + <usize>m * rows;
    let c = C + <usize>m * lineC;
    let panel = P;
    let n = 0;
    for (; n + 32 <= N; n += 32) {
      oneWideRow(K, a, panel, panelStep, c, add);
      panel += panelStep * 4;
      c += 128;
    }
    for (; n < N; n += 8) {
      oneRow(K, a, FLOAT, panel, c, add);
      panel += panelStep;
      c += 32;
    }
  }
}

// Rows taken at a time, and columns of A: their panels and one of B fit the first-level cache together.
const DEPTH: i32 = 256;
const BREADTH: i32 = 16;

// C[m][n] = sum over k of A[k][m] B[k][n]: how the gradient of a weight is summed over rows. Both are packed on the way, as
// columns of A lie too far apart to be read where they are. SCRATCH has room for 256 (N + 16) floats.
export function sumOfRowProducts(K: i32, M: i32, N: i32, A: usize, B: usize, C: usize, SCRATCH: usize): void {
  const lineC = <usize>N * FLOAT;
  const lineA = <usize>M * FLOAT;
  const columns = SCRATCH;
  const panels = SCRATCH + <usize>(DEPTH * BREADTH) * FLOAT;
  for (let first = 0; first < K; first += DEPTH) {
    const count = min(DEPTH, K - first);
    const panelStep = <usize>count * 32;
    packRows(count, N, B + <usize>first * lineC, N, panels);
    for (let m = 0; m < M; m += BREADTH) {
      const breadth = min(BREADTH, M - m);
      packRows(count, breadth, A + <usize>first * lineA + <usize>m * FLOAT, M, columns);
      let panel = panels;
      let corner = C + <usize>m * lineC;
      for (let n = 0; n < N; n += 8) {
        let a = columns;
        let c = corner;
        for (let r = 0; r < breadth; r += 8) {
          fourRows(count, a, FLOAT, 32, panel, c, lineC, first);
          fourRows(count, a + VECTOR, FLOAT, 32, panel, c + 4 * lineC, lineC, first);
          a += panelStep;
          c += 8 * lineC;
        }
        panel += panelStep;
        corner += 32;
      }
    }
  }
}
