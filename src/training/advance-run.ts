import { DomainError } from '../core/errors';
import type { SegmentInput, SegmentResult } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import type { ActiveRun, ActiveRuns } from './active-runs';
import type { SegmentOptions } from './segment';
import { runSegment } from './segment';
import { openStepJournals } from './step-journals';

export interface AdvanceDependencies {
  readonly store: RunStore;
  readonly runs: ActiveRuns;
}

export type AdvanceOptions = Omit<SegmentOptions, 'waiting'> & { readonly epoch: number };

/** Runs one segment with what this worker keeps of the run, and lets go of a service that did not answer. */
export async function advanceRun(
  { store, runs }: AdvanceDependencies,
  input: SegmentInput,
  options: AdvanceOptions,
): Promise<SegmentResult> {
  const { run } = input.plan;
  try {
    return await advance(store, { active: await runs.open(run), input }, options);
  } catch (error) {
    if (!(error instanceof DomainError) || (error.code !== 'unreachable' && error.code !== 'session-lost'))
      throw error;
    await runs.forget(run);
    if (error.code === 'session-lost') throw error;
    return { position: input.position, snapshots: [], seconds: 0, waitingFor: error.message };
  }
}

async function advance(
  store: RunStore,
  { active, input }: { readonly active: ActiveRun; readonly input: SegmentInput },
  options: AdvanceOptions,
): Promise<SegmentResult> {
  const { plan, model } = input;
  const waiting = active.patience.watch();
  const journals = await openStepJournals(store, {
    plan,
    model,
    epoch: options.epoch,
    now: () => new Date(),
  });
  try {
    return await runSegment(
      {
        client: active.engine.client,
        data: active.data,
        batches: active.batches,
        optimization: active.optimization,
        journals,
        now: () => performance.now(),
      },
      input,
      { ...options, waiting },
    );
  } finally {
    waiting.stop();
    await journals.close();
  }
}
