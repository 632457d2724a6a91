import { join } from 'node:path';
import { anySignal } from '../../core/concurrency/any-signal';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { Sampler } from '../../core/sampling';
import type { SamplingAccount } from '../../core/sampling-cost';
import { EvaluationAllowance } from '../../evaluation/evaluation-budget';
import type { SampledShard } from './sampled-shard';

interface AccountPlace {
  /** Of the step. */
  readonly folder: string;
  readonly firstGroup: number;
  /** Absent where no prices are known. */
  readonly account: SamplingAccount | undefined;
  readonly epoch: number;
  readonly signal: AbortSignal;
  /** Hears that what is reserved and drawn waits for room. */
  readonly onWaiting?: TellWaiting;
}

export interface Accounted {
  /** Counts what is drawn. */
  readonly limit: (sampler: Sampler) => Sampler;
  readonly signal: AbortSignal;
}

/**
 * Samples a shard within what it may cost, where prices are known: `shard-<first group>/journal/spent.jsonl` of the step keeps what
 * all attempts at it reserved and drew.
 */
export async function withinAccount(
  { folder, firstGroup, account, epoch, signal, onWaiting }: AccountPlace,
  sample: (accounted: Accounted) => Promise<SampledShard>,
): Promise<SampledShard> {
  if (!account) return sample({ limit: (sampler) => sampler, signal });
  const { dollars, prices } = account;
  const place = { folder: join(folder, `shard-${firstGroup}`), epoch, onWaiting };
  const allowance = await EvaluationAllowance.open(place, dollars === null ? {} : { dollars }, prices);
  try {
    const shard = await sample({
      limit: (sampler) => allowance.limit(sampler),
      signal: anySignal([signal, allowance.signal]),
    });
    return { ...shard, spent: allowance.spentTokens };
  } catch (error) {
    if (signal.aborted || !allowance.signal.aborted) throw error;
    return { skippedGroupCount: 0, seconds: 0, isOverBudget: true, spent: allowance.spentTokens };
  } finally {
    await allowance.close();
  }
}
