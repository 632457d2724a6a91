/** Statistics by their usual names. */
export { bootstrapInterval } from '../core/statistics/bootstrap-interval';
export type { BootstrapOptions } from '../core/statistics/bootstrap-interval';
export { clusteredStandardError } from '../core/statistics/clustered-standard-error';
export type { ClusteredOptions, ClusteredValue } from '../core/statistics/clustered-standard-error';
export { bestAtK, majorityAtK } from '../core/statistics/majority-at-k';
export type { AnsweredSample, MajorityOptions } from '../core/statistics/majority-at-k';
export { mcnemarChiSquared, mcnemarExact } from '../core/statistics/mcnemar';
export type { ChiSquared } from '../core/statistics/mcnemar';
export { meanOf, ratioOf } from '../core/statistics/mean';
export type { Mean, RatioPart } from '../core/statistics/mean';
export {
  examplesToDetect,
  minimumDetectableDifference,
  powerToDetect,
} from '../core/statistics/minimum-detectable-difference';
export type { TestDesign, TestStrength } from '../core/statistics/minimum-detectable-difference';
export { benjaminiHochberg, holm } from '../core/statistics/multiple-comparisons';
export { noiseFloor } from '../core/statistics/noise-floor';
export type { NoiseFloor, NoiseFloorOptions } from '../core/statistics/noise-floor';
export { normalCdf, normalQuantile, normalTwoSided } from '../core/statistics/normal-distribution';
export { pairedDifference } from '../core/statistics/paired-difference';
export type { PairedDifference } from '../core/statistics/paired-difference';
export { passAtK } from '../core/statistics/pass-at-k';
export { passHatK } from '../core/statistics/pass-hat-k';
export { studentCdf, studentTwoSided } from '../core/statistics/t-distribution';
export { wilcoxonSignedRank } from '../core/statistics/wilcoxon-signed-rank';
export type { SignedRank } from '../core/statistics/wilcoxon-signed-rank';
export { wilsonInterval } from '../core/statistics/wilson-interval';
export type { Interval } from '../core/statistics/wilson-interval';
