import { DomainError } from '../core/errors';
import type { RunEvent } from '../core/timeline';
import { workerLost } from '../core/timeline';
import type { SegmentInput, SegmentResult } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import type { ActiveRun, ActiveRuns } from './active-runs';
import type { PolicyNote } from './policy-note';
import { writePolicyNote } from './policy-note';
import { recordEvents } from './record-events';
import { requireOwner } from './require-owner';
import { requireRun } from './run-folder';
import { runSegment } from './segment';
import type { SegmentOptions } from './segment-contract';
import { createStepJournals } from './step-journals';
import type { StoreNews } from './store-news';

export interface AdvanceDependencies {
  readonly runs: ActiveRuns;
  readonly store: RunStore;
  /** Shared with the samplers of this process. */
  readonly news: StoreNews;
}

export type AdvanceOptions = Omit<SegmentOptions, 'waiting'> & { readonly epoch: number };

/** What the run waits for or rewinds after, instead of failing or retrying unseen. */
const HANDED_OVER: readonly string[] = ['unreachable', 'session-lost', 'store-full'];

/** Runs one segment with what this worker keeps of the run, and lets go of a service that did not answer. */
export async function advanceRun(
  { runs, store, news }: AdvanceDependencies,
  input: SegmentInput,
  options: AdvanceOptions,
): Promise<SegmentResult> {
  const { run } = input.plan;
  try {
    await requireRun(store, run);
    await requireOwner(store, run, options.epoch);
    const events = await eventsOf(store, input, options);
    await recordEvents(store, { run, events, epoch: options.epoch });
    const result = await runs.use(run, (active) => advance({ active, store, news }, input, options));
    if (result.lost !== null) await runs.forget(run);
    return result;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'superseded')
      await requireOwner(store, run, options.epoch);
    if (!(error instanceof DomainError) || !HANDED_OVER.includes(error.code)) throw error;
    await runs.forget(run);
    const isLost = error.code === 'session-lost';
    return {
      position: input.position,
      snapshots: [],
      seconds: 0,
      waitingFor: isLost ? null : error.message,
      lost: isLost ? error.message : null,
    };
  }
}

/** What the workflow remembered, and that the attempt before had no end: how far that came its rows say. */
async function eventsOf(
  store: RunStore,
  { events = [], position, plan: { run } }: SegmentInput,
  { attempt }: AdvanceOptions,
): Promise<RunEvent[]> {
  if (attempt === 1) return [...events];
  const [newest] = await store.readMetrics(run, { last: 1 });
  const step = Math.max(0, position.collectedThrough, newest?.step ?? 0);
  const text = workerLost(`training goes on after step ${step}`, attempt);
  return [...events, { at: new Date().toISOString(), kind: 'worker lost', step, text }];
}

async function advance(
  { active, store, news }: Omit<AdvanceDependencies, 'runs'> & { readonly active: ActiveRun },
  input: SegmentInput,
  options: AdvanceOptions,
): Promise<SegmentResult> {
  const { plan, model } = input;
  const waiting = active.patience.watch();
  try {
    const result = await active.journals.lend(options.epoch, (borrowed) =>
      runSegment(
        {
          client: active.engine.client,
          batches: active.batches,
          optimization: active.optimization,
          journals: createStepJournals(borrowed, {
            ...{ plan, model, now: () => new Date() },
            ...(input.sampled && { sampled: input.sampled }),
          }),
          ...(input.passing && {
            passPolicy: async (note: PolicyNote) => {
              await writePolicyNote(store.runFolder(plan.run), note);
              news.tell();
            },
          }),
          news,
          now: () => performance.now(),
        },
        input,
        { ...options, waiting },
      ),
    );
    return active.codeRemark === null ? result : { ...result, remark: active.codeRemark };
  } finally {
    waiting.stop();
  }
}
