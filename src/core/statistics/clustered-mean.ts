import type { ClusteredValue } from './clustered-standard-error';
import { clusteredStandardError } from './clustered-standard-error';

interface ClusteredSpread {
  readonly standardError: number;
  readonly clusterCount: number;
}

/** A value that may hang together with others; null where it stands alone. */
export interface MaybeClustered {
  readonly value: number;
  readonly cluster: string | null;
}

/**
 * How far a mean may be off whose values hang together; null where none do, or all in one cluster, from which nothing follows.
 * A value without a cluster is its own.
 */
export function clusteredSpread(values: readonly MaybeClustered[]): ClusteredSpread | null {
  const named = values.map(({ value, cluster }, index): ClusteredValue => {
    return { value, cluster: cluster === null ? `example ${index}` : `cluster ${cluster}` };
  });
  const clusterCount = new Set(named.map(({ cluster }) => cluster)).size;
  if (clusterCount === values.length || clusterCount < 2) return null;
  const standardError = clusteredStandardError(named, { correctForFewClusters: true });
  return standardError === null ? null : { standardError, clusterCount };
}
