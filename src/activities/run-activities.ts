import { log } from '@temporalio/activity';
import { DomainError } from '../core/errors';
import type { ScoreRow } from '../core/run';
import type { TrainingPlan } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import type { ActiveRuns } from '../training/active-runs';
import type { CloseRunInput } from '../training/close-run';
import { closeRun } from '../training/close-run';
import type { EvaluationOutcome, PendingCells } from '../training/pending-evaluations';
import { settleEvaluations } from '../training/pending-evaluations';
import type { PrepareDependencies, PrepareInput } from '../training/prepare-run';
import { prepareRun } from '../training/prepare-run';
import type { EvaluationToSettle, RecordScoresInput } from '../training/record-scores';
import { recordControl } from '../training/record-control';
import type { RecordControlInput } from '../training/record-control';
import { recordScores } from '../training/record-scores';
import { releaseSnapshots } from '../training/release-snapshots';
import { currentWorkflow, epochOf, withHeartbeat } from './activity-context';
import { isWorkflowRunning } from './workflow-presence';

export interface RunDependencies extends PrepareDependencies {
  readonly store: RunStore;
  readonly runs: ActiveRuns;
}

const CLOSE_ATTEMPTS = 20;
/** Each waits some seconds for a service that is away: long enough for one that is being started again. */
const PREPARE_ATTEMPTS = 3;

/** Bookkeeping of runs on the store, for any worker with the role `workflows`. */
export function createRunActivities(dependencies: RunDependencies) {
  const { store, runs, now } = dependencies;
  return {
    /** Makes the run's folder; see `prepareRun`. A service that stays away refuses the run: nothing was begun yet. */
    async prepareRun(input: Pick<PrepareInput, 'run' | 'config' | 'provenance'>): Promise<TrainingPlan> {
      const { workflowId, runId } = currentWorkflow();
      const owner = { workflowId, firstRunId: runId };
      return withHeartbeat(({ progress, attempt, signal }) =>
        prepareRun(dependencies, { ...input, ...owner }, { onProgress: progress, signal }).catch(
          (error: unknown) => {
            throw attempt < PREPARE_ATTEMPTS ? error : unreachableForGood(error);
          },
        ),
      );
    },

    /** Writes scores that came in and lets go of the snapshots they were measured on. */
    async recordScores(input: RecordScoresInput): Promise<readonly ScoreRow[]> {
      return withHeartbeat(async ({ attempt }) => {
        const rows = await recordScores(store, input, epochOf(input.write, attempt));
        await releaseSnapshots(runs, input.run, input.evaluations);
        return rows;
      });
    },

    /** Notes a change somebody made. */
    async recordControl(input: RecordControlInput): Promise<void> {
      await withHeartbeat(({ attempt }) => recordControl(store, input, epochOf(input.write, attempt)));
    },

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
        closeRun({ store, runs, now, warn, isLastChance: attempt >= CLOSE_ATTEMPTS }, input),
      );
    },

    /** Removes what a run that could not be prepared has left, if it is this workflow's. */
    async discardRun({ run }: { readonly run: string }): Promise<void> {
      const { workflowId, runId } = currentWorkflow();
      await withHeartbeat(async () => {
        const owner = await store.readOwner(run);
        if (owner?.workflowId === workflowId && owner.firstRunId === runId) await store.discard(run);
      });
    },
  };
}

function unreachableForGood(error: unknown): unknown {
  if (!(error instanceof DomainError) || error.code !== 'unreachable') return error;
  const remedy = 'Start the training service, or correct engine.url, --engine or TINKER_BASE_URL.';
  return new DomainError('unreachable', `engine.url: ${error.message} ${remedy}`, { cause: error });
}

export type RunActivities = ReturnType<typeof createRunActivities>;
