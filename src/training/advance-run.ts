import { DomainError } from '../core/errors';
import type { RunEvent } from '../core/timeline';
import { workerLost } from '../core/timeline';
import type { SegmentInput, SegmentResult } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import type { ActiveRun, ActiveRuns, TrainingMaterial } from './active-runs';
import type { PolicyNote } from './policy-note';
import { writePolicyNote } from './policy-note';
import { recordEvents } from './record-events';
import { guardOpening } from './reinforcement/guard-opening';
import { requireOwner } from './require-owner';
import { requireRun } from './run-folder';
import { isRepeated, runSegment } from './segment';
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

interface Advancing extends Omit<AdvanceDependencies, 'runs'> {
  readonly active: ActiveRun;
}

/**
 * Only reinforcement trains with code of a plug-in: that is looked after where it is loaded, and a loss for as long as steps are trained
 * with it. A segment that was interrupted is repeated as an activity of its own.
 */
async function advance(
  parts: Advancing,
  input: SegmentInput,
  options: AdvanceOptions,
): Promise<SegmentResult> {
  const { record, material } = parts.active;
  const { run, config } = record;
  if (config.kind !== 'rl') return train({ ...parts, material: await material() }, input, options);
  const { plugins, lossFunction } = config;
  const isOwnLoss = typeof lossFunction !== 'string';
  const opening = {
    ...{ run, folder: parts.store.runFolder(run), what: 'what it is trained with' },
    // No step is trained without new ones, sooner or later.
    places: { mark: '.opening-training.json', journals: 'rollouts' },
    plugins: () => Promise.resolve(plugins),
  };
  const attempt = isRepeated(input, options) ? Math.max(2, options.attempt) : 1;
  const tried = { attempt, signal: options.signal };
  if (!isOwnLoss) {
    const loaded = await guardOpening(opening, tried, () => material());
    return train({ ...parts, material: loaded }, input, options);
  }
  return guardOpening(opening, tried, async ({ signal }) =>
    train({ ...parts, material: await material() }, input, { ...options, signal }),
  );
}

async function train(
  { active, store, news, material }: Advancing & { readonly material: TrainingMaterial },
  input: SegmentInput,
  options: AdvanceOptions,
): Promise<SegmentResult> {
  const { plan, model } = input;
  const { batches, codeRemark } = material;
  const waiting = active.patience.watch();
  try {
    const result = await active.journals.lend(options.epoch, (borrowed) =>
      runSegment(
        {
          client: active.engine.client,
          batches,
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
    return codeRemark === null ? result : { ...result, remark: codeRemark };
  } finally {
    waiting.stop();
  }
}
