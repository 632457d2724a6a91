import { log } from '@temporalio/activity';
import type { TrainingConfig } from '../config/training-config';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import type { RunRemains } from '../core/continued-run';
import type { ScoreRow } from '../core/run';
import type { TrainingPlan } from '../core/training-plan';
import { DomainError } from '../core/errors';
import { trainingWorkflowId } from '../core/training-workflow-id';
import type { RunOwner, RunStore } from '../stores/run-store';
import type { ActiveRuns } from '../training/active-runs';
import type { CloseRunInput } from '../training/close-run';
import { closeRun } from '../training/close-run';
import type { ContinueRunInput } from '../training/continue-run';
import { continueRun } from '../training/continue-run';
import type { EvaluationOutcome, PendingCells } from '../training/pending-evaluations';
import { settleEvaluations } from '../training/pending-evaluations';
import type { PrepareDependencies, PrepareInput } from '../training/prepare-run';
import { prepareRun } from '../training/prepare-run';
import type { EvaluationToSettle, RecordScoresInput } from '../training/record-scores';
import { findCheckpoint } from '../training/find-checkpoint';
import type { FindCheckpointInput, FoundCheckpoint } from '../training/find-checkpoint';
import { findScore } from '../training/find-score';
import type { FindScoreInput } from '../training/find-score';
import { noteStatus } from '../training/note-status';
import type { NoteStatusInput } from '../training/note-status';
import { pairScores } from '../training/pair-scores';
import type { PairedScores, PairScoresInput } from '../training/pair-scores';
import { promoteCheckpoint } from '../training/promote-checkpoint';
import type { PromoteInput } from '../training/promote-checkpoint';
import { recordControl } from '../training/record-control';
import type { RecordControlInput } from '../training/record-control';
import { recordScores } from '../training/record-scores';
import { releaseSnapshots } from '../training/release-snapshots';
import { currentWorkflow, epochOf, scheduledAt, withHeartbeat } from './activity-context';
import { tryInTime } from './try-in-time';
import { isWorkflowRunning } from './workflow-presence';

interface PreparationDependencies extends Omit<PrepareDependencies, 'now'> {
  /** Anybody who reaches the server can start a run; of what commands and the library send this is the same again. */
  readonly checkConfig: (config: unknown) => TrainingConfig;
}

export interface RunDependencies extends PreparationDependencies {
  readonly store: RunStore;
  readonly runs: ActiveRuns;
}

const CLOSE_ATTEMPTS = 20;

/** Bookkeeping of runs on the store, for any worker with the role `workflows`. */
export function createRunActivities(dependencies: RunDependencies) {
  const { store, runs } = dependencies;
  return {
    // Begun by releases before preparation had a queue of its own.
    ...createPreparationActivities(dependencies),

    /** Writes scores that came in and lets go of the snapshots they were measured on. */
    async recordScores(input: RecordScoresInput): Promise<readonly ScoreRow[]> {
      return withHeartbeat(async ({ attempt }) => {
        const rows = await recordScores(store, input, epochOf(input.write, attempt));
        await releaseSnapshots(runs, input.run, input.evaluations);
        return rows;
      });
    },

    ...createControlActivities(dependencies),

    /** Lets go of snapshots nobody will measure. */
    async releaseSnapshots(input: {
      readonly run: string;
      readonly evaluations: readonly EvaluationToSettle[];
    }): Promise<void> {
      await withHeartbeat(() => releaseSnapshots(runs, input.run, input.evaluations));
    },

    /** Finds out what became of evaluations that have not told. */
    async reconcileEvaluations(input: {
      readonly run: string;
      readonly pending: readonly PendingCells[];
    }): Promise<readonly EvaluationOutcome[]> {
      return withHeartbeat(() => settleEvaluations(store, input, isWorkflowRunning));
    },

    /** Writes how the run ended and releases its model. Returns the digest of the final weights. */
    async closeRun(input: CloseRunInput): Promise<string | null> {
      const warn = (message: string, error: unknown) => {
        log.warn(message, { run: input.plan.run, error: String(error) });
      };
      return withHeartbeat(({ attempt }) =>
        closeRun(
          {
            ...{ store, runs, now: serverTime, warn, isLastChance: attempt >= CLOSE_ATTEMPTS },
            epoch: epochOf(input.segment ?? 0, attempt),
          },
          input,
        ),
      );
    },

    /**
     * Removes what a run that could not be prepared has left, if it is this workflow's. One that an earlier workflow
     * trained (`continues`) stays as it is, and can be continued again.
     */
    async discardRun(input: { readonly run: string; readonly continues?: boolean }): Promise<void> {
      const { run, continues = false } = input;
      const { workflowId, runId } = currentWorkflow();
      await withHeartbeat(async () => {
        if (continues && (await store.readState(run)) !== null) return;
        const owner = await store.readOwner(run);
        if (owner?.workflowId === workflowId && owner.firstRunId === runId) await store.discard(run);
      });
    },
  };
}

/** A run begins and ends by one clock, by which its workflow counts budgets of time: not by those of two workers. */
function serverTime(): Date {
  return new Date(scheduledAt());
}

/** What makes runs ready: rows are read and rendered, which computes for as long as there are rows. */
export function createPreparationActivities(dependencies: PreparationDependencies) {
  return {
    /** Makes the run's folder; see `prepareRun`. A service or a hub that stays away refuses the run: nothing was begun yet. */
    async prepareRun(input: Omit<PrepareInput, 'workflowId' | 'firstRunId'>): Promise<TrainingPlan> {
      const owner = ownerOf(input.run);
      const config = dependencies.checkConfig(input.config);
      return withHeartbeat(({ progress, signal }) => {
        const onWaiting = waitingTo(progress);
        return tryInTime(() =>
          prepareRun(
            { ...dependencies, now: serverTime },
            { ...input, ...owner, config },
            { onProgress: progress, onWaiting, signal },
          ),
        );
      });
    },

    /** Goes on with a run that another workflow began: takes its folder over and says where it stands. */
    async continueRun({
      run,
      endedBefore,
    }: Pick<ContinueRunInput, 'run' | 'endedBefore'>): Promise<RunRemains> {
      const asked = { run, askedAt: scheduledAt(), endedBefore, ...ownerOf(run) };
      return withHeartbeat(({ progress, signal }) => {
        const onWaiting = waitingTo(progress);
        return continueRun(dependencies, asked, { signal, onWaiting });
      });
    },
  };
}

function waitingTo(progress: (detail: unknown) => void): TellWaiting {
  return (waiting) => {
    progress(waiting === null ? undefined : { waiting });
  };
}

/** A workflow of another id could take a run from the one that trains it. */
function ownerOf(run: string): RunOwner {
  const { workflowId, runId } = currentWorkflow();
  const own = trainingWorkflowId(run);
  if (workflowId === own) return { workflowId, firstRunId: runId };
  throw new DomainError(
    'refused',
    `The workflow ${JSON.stringify(workflowId)} is not the one of run ${JSON.stringify(run)}, whose id is ${JSON.stringify(own)}. Leave starting it to the command or the library.`,
  );
}

/** What changes that people make while a run goes on need of the store. */
function createControlActivities({ store, runs }: RunDependencies) {
  return {
    /** Notes a change somebody made. */
    async recordControl(input: RecordControlInput): Promise<void> {
      await withHeartbeat(({ attempt }) => recordControl(store, input, epochOf(input.write, attempt)));
    },

    /** Tells the store that a run stands still, or goes on. */
    async noteStatus(input: NoteStatusInput): Promise<void> {
      await withHeartbeat(({ attempt }) => noteStatus(store, input, epochOf(input.segment, attempt)));
    },

    /** A kept checkpoint that can be sampled from. */
    async findCheckpoint(input: FindCheckpointInput): Promise<FoundCheckpoint> {
      return withHeartbeat(() => findCheckpoint(store, input));
    },

    /** What an evaluator measured at a step; null where it did not. */
    async findScore(input: FindScoreInput): Promise<ScoreRow | null> {
      return withHeartbeat(() => findScore(store, input));
    },

    /** How an evaluator's scores of two steps differ on the same examples; null where it keeps none. */
    async pairScores(input: PairScoresInput): Promise<PairedScores | null> {
      return withHeartbeat(() => pairScores(store, input));
    },

    /** Marks a checkpoint as the best and keeps it for good. Returns why it cannot be kept, null if it is. */
    async promoteCheckpoint(input: PromoteInput): Promise<string | null> {
      return withHeartbeat(() => promoteCheckpoint({ store, runs }, input));
    },
  };
}

export type RunActivities = ReturnType<typeof createRunActivities>;
export type PreparationActivities = ReturnType<typeof createPreparationActivities>;
