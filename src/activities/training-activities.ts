import { Context } from '@temporalio/activity';
import type {
  ModelIncarnation,
  OpenedModel,
  OpenModelInput,
  SegmentInput,
  SegmentResult,
} from '../core/training-plan';
import { anySignal } from '../core/concurrency/any-signal';
import type { RunStore } from '../stores/run-store';
import type { ActiveRuns } from '../training/active-runs';
import { advanceRun } from '../training/advance-run';
import type { EngineAccess } from '../training/engine-access';
import { keepSession } from '../training/keep-session';
import { openModel } from '../training/open-model';
import { releaseModel } from '../training/release-model';
import type { ReleaseModelInput } from '../training/release-model';
import { readRunRecord } from '../training/run-folder';
import type { StoreNews } from '../training/store-news';
import { epochOf, withHeartbeat } from './activity-context';

export interface TrainingDependencies {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly runs: ActiveRuns;
  /** Shared with the samplers of this process. */
  readonly news: StoreNews;
  /** Fires when this worker is asked to stop. */
  readonly stopping: AbortSignal;
}

const SESSION_HEARTBEAT_MS = 10_000;

/** What only a worker with the role `training` does: it moves the model. */
export function createTrainingActivities(dependencies: TrainingDependencies) {
  const { store, engines, runs, news, stopping } = dependencies;
  return {
    /** Opens the run's model at the training service. A repeated attempt opens another one. */
    async openModel(input: OpenModelInput): Promise<OpenedModel> {
      return withHeartbeat(async ({ signal, attempt }) => {
        const record = await readRunRecord(store, input.run);
        const epoch = epochOf(input.segment, attempt);
        return openModel({ store, engines, record, epoch, signal }, input);
      });
    },

    /**
     * Advances the run by some steps. A repeated attempt sends the same requests and gets the same results. Cancelled, or
     * on a worker that stops, it hands over what it has in flight.
     */
    async runSegment(input: SegmentInput): Promise<SegmentResult> {
      return withHeartbeat(({ signal, attempt, progress }) =>
        advanceRun({ runs, store, news }, input, {
          attempt,
          epoch: epochOf(input.segment, attempt),
          signal: anySignal([signal, stopping]),
          onProgress: progress,
        }),
      );
    },

    /** Lets go of a model whose state is saved. */
    async releaseModel(input: ReleaseModelInput): Promise<void> {
      await withHeartbeat(({ signal }) => releaseModel(runs, input, signal));
    },

    // Begun by releases before the sessions had a queue of their own.
    ...createSessionActivities(dependencies),
  };
}

/** What keeps runs' sessions alive. Each is under way for as long as its run, so they have places of their own. */
export function createSessionActivities({ runs, stopping }: Pick<TrainingDependencies, 'runs' | 'stopping'>) {
  return {
    /**
     * Runs for as long as the model lives; whichever worker has it, the service's session goes on. A worker that stops
     * gives it up at once.
     */
    async keepSession(input: { readonly run: string; readonly model: ModelIncarnation }): Promise<void> {
      await withHeartbeat(async ({ signal }) => {
        const ending = anySignal([signal, stopping]);
        await runs.use(input.run, ({ engine }) =>
          keepSession(engine.client, input.model, { signal: ending, intervalMs: SESSION_HEARTBEAT_MS }),
        );
      }, heartbeatEveryMs());
    },
  };
}

/** A third of what the workflow allows. */
function heartbeatEveryMs(): number | undefined {
  const { heartbeatTimeoutMs } = Context.current().info;
  return heartbeatTimeoutMs === undefined ? undefined : heartbeatTimeoutMs / 3;
}

export type TrainingActivities = ReturnType<typeof createTrainingActivities>;
export type SessionActivities = ReturnType<typeof createSessionActivities>;
