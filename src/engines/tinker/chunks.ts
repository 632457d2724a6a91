/** How a batch is cut into requests the server takes, and how their results become one again. */
import type { Datum, ForwardBackwardResult } from '../../core/datum';
import { largestOf, smallestOf } from '../../core/extremes';
import type { ServerProfile } from './profile';

/** Consecutive chunks within the server's limits; a datum above the byte limit is a chunk of its own. */
export function planChunks(
  data: readonly Datum[],
  limits: Pick<ServerProfile, 'maxChunkDatums' | 'maxChunkBytes'>,
): Datum[][] {
  const chunks: Datum[][] = [];
  let chunkBytes = 0;
  for (const datum of data) {
    const bytes = estimateBytes(datum);
    const chunk = chunks.at(-1);
    if (chunk && chunk.length < limits.maxChunkDatums && chunkBytes + bytes <= limits.maxChunkBytes) {
      chunk.push(datum);
      chunkBytes += bytes;
    } else {
      chunks.push([datum]);
      chunkBytes = bytes;
    }
  }
  return chunks;
}

/**
 * Log-probs in the order of the chunks; metrics by the reduction in their name (`loss:sum`), as the official
 * client does it. A metric that not every chunk has is dropped.
 */
export function mergeChunkResults(results: readonly ForwardBackwardResult[]): ForwardBackwardResult {
  const [only] = results;
  if (only && results.length === 1) return only;
  const values = new Map<string, { value: number; weight: number }[]>();
  for (const { metrics, logprobs } of results) {
    for (const [name, value] of Object.entries(metrics)) {
      const parts = values.get(name) ?? [];
      parts.push({ value, weight: logprobs.length });
      values.set(name, parts);
    }
  }
  return {
    logprobs: results.flatMap(({ logprobs }) => logprobs),
    metrics: Object.fromEntries(
      [...values]
        .filter(([, parts]) => parts.length === results.length)
        .flatMap(([name, parts]) => reduceMetric(name, parts)),
    ),
  };
}

interface Part {
  readonly value: number;
  readonly weight: number;
}

type Reduction = (parts: readonly Part[]) => number;

const REDUCTIONS: Readonly<Record<string, Reduction>> = {
  sum: (parts) => parts.reduce((total, { value }) => total + value, 0),
  min: (parts) => smallestOf(parts.map(({ value }) => value)),
  max: (parts) => largestOf(parts.map(({ value }) => value)),
  mean,
  slack: (parts) => largestOf(parts.map(({ value }) => value)) - mean(parts),
  hash2: (parts) =>
    Number(
      BigInt.asUintN(
        64,
        parts.reduce((total, { value }) => total + BigInt(Math.trunc(value)), 0n),
      ),
    ),
};

/** A metric with an unknown reduction is dropped: nobody knows what it would mean for the whole. */
function reduceMetric(name: string, parts: readonly Part[]): [string, number][] {
  const reduction = name.slice(name.lastIndexOf(':') + 1);
  if (reduction === 'unique') {
    return parts.map(({ value }, index) => [index === 0 ? name : `${name}_${index}`, value]);
  }
  const reduce = Object.hasOwn(REDUCTIONS, reduction) ? REDUCTIONS[reduction] : undefined;
  return reduce ? [[name, reduce(parts)]] : [];
}

function mean(parts: readonly Part[]): number {
  const weight = parts.reduce((total, part) => total + part.weight, 0);
  return parts.reduce((total, part) => total + part.value * part.weight, 0) / weight;
}

/** As the official client estimates: tokens and float32 values 4 bytes, int64 targets 8. */
function estimateBytes({ tokens, lossInputs }: Datum): number {
  const inputs = Object.values(lossInputs).reduce((total, values) => total + values.byteLength, 0);
  return tokens.length * 12 + inputs;
}
