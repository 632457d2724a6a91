export type Interval = readonly [low: number, high: number];

/** Two-sided 95 % of the standard normal distribution. */
export const Z_95 = 1.959963984540054;

/**
 * Wilson score interval of a proportion (Wilson 1927). Unlike mean ± 1.96 standard errors it stays within 0…1 and is
 * not empty when all or none succeed. null without trials.
 */
export function wilsonInterval(successes: number, trials: number, z: number = Z_95): Interval | null {
  if (trials === 0) return null;
  const proportion = successes / trials;
  const denominator = 1 + z ** 2 / trials;
  const centre = (proportion + z ** 2 / (2 * trials)) / denominator;
  const spread =
    (z / denominator) * Math.sqrt((proportion * (1 - proportion)) / trials + z ** 2 / (4 * trials ** 2));
  // Exactly 0 and 1 at the ends, where rounding leaves a speck.
  return [successes === 0 ? 0 : centre - spread, successes === trials ? 1 : centre + spread];
}
