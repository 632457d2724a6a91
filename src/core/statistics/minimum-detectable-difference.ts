import { normalCdf, normalQuantile } from './normal-distribution';

export interface TestStrength {
  /** Chance of seeing a difference where there is none, both sides together; 0.05 unless told. */
  readonly alpha?: number;
  /** Chance of seeing the difference where it is there; 0.8 unless told. */
  readonly power?: number;
}

/** How two systems are measured, and how far their scores spread over the examples. */
export type TestDesign =
  | {
      /** On the same examples. */
      readonly kind: 'paired';
      readonly n: number;
      /** Standard deviation of first − second over the examples. */
      readonly differenceDeviation: number;
    }
  | {
      readonly kind: 'unpaired';
      readonly n: readonly [first: number, second: number];
      readonly deviations: readonly [first: number, second: number];
    };

/**
 * The smallest true difference that a two-sided test at `alpha` finds with chance `power`: (z_{1−α/2} + z_power) · standard
 * error of the difference (Miller 2024, arXiv:2411.00640, §5).
 */
export function minimumDetectableDifference(design: TestDesign, strength: TestStrength = {}): number {
  const { alpha = 0.05, power = 0.8 } = strength;
  return (normalQuantile(1 - alpha / 2) + normalQuantile(power)) * standardErrorOf(design);
}

/** Chance that a two-sided test at `alpha` finds a true difference of this size, in its direction. */
export function powerToDetect(difference: number, design: TestDesign, alpha = 0.05): number {
  return normalCdf(Math.abs(difference) / standardErrorOf(design) - normalQuantile(1 - alpha / 2));
}

/** Examples that a paired test needs to find a true difference of this size: (z_{1−α/2} + z_power)² · variance / difference². */
export function examplesToDetect(
  difference: number,
  differenceDeviation: number,
  { alpha = 0.05, power = 0.8 }: TestStrength = {},
): number {
  const deviations = normalQuantile(1 - alpha / 2) + normalQuantile(power);
  return Math.ceil(((deviations * differenceDeviation) / difference) ** 2);
}

function standardErrorOf(design: TestDesign): number {
  if (design.kind === 'paired') return design.differenceDeviation / Math.sqrt(design.n);
  const [first, second] = design.deviations;
  return Math.sqrt(first ** 2 / design.n[0] + second ** 2 / design.n[1]);
}
