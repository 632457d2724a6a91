import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { isCancellation, upsertSearchAttributes } from '@temporalio/workflow';
import type { BenchmarkSummary } from '../core/benchmark-run';
import type { RunBenchmarkInput } from './benchmark-contracts';

const STATUS = defineSearchAttributeKey('EverstepStatus', SearchAttributeType.KEYWORD);
const SCORE = defineSearchAttributeKey('EverstepScore', SearchAttributeType.DOUBLE);

/** Makes a benchmark findable by how it ended and by its score; one event in all. */
export async function publishingEnd(
  { useSearchAttributes }: Pick<RunBenchmarkInput, 'useSearchAttributes'>,
  work: () => Promise<BenchmarkSummary>,
): Promise<BenchmarkSummary> {
  if (!useSearchAttributes) return work();
  try {
    const summary = await work();
    upsertSearchAttributes([
      { key: STATUS, value: 'completed' },
      { key: SCORE, value: summary.score },
    ]);
    return summary;
  } catch (error) {
    upsertSearchAttributes([{ key: STATUS, value: isCancellation(error) ? 'cancelled' : 'failed' }]);
    throw error;
  }
}
