// Vectors of four floats: what the other kernels are made of.

export const FLOAT: usize = 4;
export const VECTOR: usize = 16;
export const LOWEST: f32 = -1e30;

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

export function maxLane(v: v128): f32 {
  return max<f32>(
    max<f32>(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)),
    max<f32>(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)),
  );
}

// Cephes-style polynomial; relative error about 1e-7.
export function exponential(input: v128): v128 {
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
