// Vectors of four floats: what the other kernels are made of.

export const FLOAT: usize = 4;
export const VECTOR: usize = 16;
export const LOWEST: f32 = -1e30;
export const LANES: v128 = i32x4(0, 1, 2, 3);

export function multiplyAdd(a: v128, b: v128, sum: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return f32x4.relaxed_madd(a, b, sum);
  return f32x4.add(sum, f32x4.mul(a, b));
}

export function sumLanes(v: v128): f32 {
  return (
    f32x4.extract_lane(v, 0) +
    f32x4.extract_lane(v, 1) +
    (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
  );
}

// Of lanes that are numbers. The greater of two single floats would be found by branches that no processor foresees.
export function maxLane(v: v128): f32 {
  const pairs = f32x4.pmax(v, v128.shuffle<i32>(v, v, 2, 3, 0, 1));
  return f32x4.extract_lane(f32x4.pmax(pairs, v128.shuffle<i32>(pairs, pairs, 1, 0, 3, 2)), 0);
}

// Added to a float of less than 2^22, it rounds it to an integer, which is then in the lowest bits of the sum.
const ROUNDING: f32 = 12582912;

// Cephes-style polynomial; relative error about 1e-7. Called, it would load its constants anew for every four numbers, and so it
// would in a loop that tests before its body: V8 takes out of a loop only what each way out of it has passed.
// @ts-ignore: decorator
@inline
export function exponential(input: v128): v128 {
  let x = f32x4.pmin(f32x4.pmax(input, f32x4.splat(-87.3)), f32x4.splat(88.3));
  const rounded = f32x4.add(f32x4.mul(x, f32x4.splat(1.44269504088896341)), f32x4.splat(ROUNDING));
  const power = f32x4.sub(rounded, f32x4.splat(ROUNDING));
  x = f32x4.sub(x, f32x4.mul(power, f32x4.splat(0.693359375)));
  x = f32x4.sub(x, f32x4.mul(power, f32x4.splat(-2.1219444e-4)));
  let y = f32x4.splat(1.98756915e-4);
  y = multiplyAdd(y, x, f32x4.splat(1.3981999507e-3));
  y = multiplyAdd(y, x, f32x4.splat(8.3334519073e-3));
  y = multiplyAdd(y, x, f32x4.splat(4.1665795894e-2));
  y = multiplyAdd(y, x, f32x4.splat(1.6666665459e-1));
  y = multiplyAdd(y, x, f32x4.splat(5.0000001201e-1));
  y = multiplyAdd(y, f32x4.mul(x, x), f32x4.add(x, f32x4.splat(1)));
  return f32x4.mul(y, i32x4.shl(i32x4.add(rounded, i32x4.splat(127)), 23));
}
