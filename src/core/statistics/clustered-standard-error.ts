import { meanOf } from './mean';

export interface ClusteredValue {
  readonly value: number;
  /** What its examples depend on together, e.g. the text that several questions are about. */
  readonly cluster: string;
}

export interface ClusteredOptions {
  /** Multiply by √(C/(C−1)), C the number of clusters, as Inspect AI does. */
  readonly correctForFewClusters?: boolean;
}

/**
 * Standard error of a mean whose values come in clusters: √(Σ_c (Σ_{i∈c} (s_i − mean))²) / n
 * (Miller 2024, arXiv:2411.00640, appendix A). null without values, and with a single cluster, from which nothing follows.
 */
export function clusteredStandardError(
  values: readonly ClusteredValue[],
  { correctForFewClusters = false }: ClusteredOptions = {},
): number | null {
  const mean = meanOf(values.map(({ value }) => value))?.mean ?? 0;
  const residuals = new Map<string, number>();
  for (const { value, cluster } of values) {
    residuals.set(cluster, (residuals.get(cluster) ?? 0) + value - mean);
  }
  const count = residuals.size;
  if (count < 2) return null;
  const squares = [...residuals.values()].reduce((total, residual) => total + residual ** 2, 0);
  return (Math.sqrt(squares) / values.length) * (correctForFewClusters ? Math.sqrt(count / (count - 1)) : 1);
}
