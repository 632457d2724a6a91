import { getExternalWorkflowHandle, log, ParentClosePolicy, startChild } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { REQUESTED_SCHEDULE } from '../../core/controls/evaluation-request';
import type { EvaluationCell } from '../../core/run';
import type { EvaluationBudget, EvaluationSchedule } from '../../core/schedules/evaluation-schedule';
import { identityOf } from '../../core/same-evaluation';
import { WORKFLOW_TASK_TIMEOUT } from '../../core/task-queues';
import type { Snapshot } from '../../core/training-plan';
import type { EvaluateCheckpointInput } from '../contracts';
import { evaluateCheckpoint } from '../evaluate-checkpoint';
import { remainingOf } from './early-cells';
import { failureMessage } from './failures';
import type { PendingEvaluation, RequestedEvaluation, RequestedSnapshot } from './training-state';

/** What a snapshot's schedules ask for; null where they ask for nothing. */
export function scheduledEvaluation(
  run: string,
  snapshot: Snapshot,
  schedules: readonly EvaluationSchedule[],
): PendingEvaluation | null {
  const evaluators = [...new Set(schedules.flatMap((schedule) => schedule.evaluators))];
  if (evaluators.length === 0) return null;
  return {
    step: snapshot.step,
    attempt: 1,
    workflowId: evaluationId(run, snapshot),
    samplerPath: snapshot.samplerPath,
    isCheckpoint: snapshot.isCheckpoint,
    evaluators,
    schedules: snapshot.schedules,
    isBlocking: schedules.some(({ mode }) => mode === 'blocking'),
  };
}

export function requestedEvaluation(
  run: string,
  { request, step, evaluators }: RequestedEvaluation,
  { samplerPath, isCheckpoint }: RequestedSnapshot,
): PendingEvaluation {
  return {
    ...{ request, step, evaluators, samplerPath, isCheckpoint },
    attempt: 1,
    workflowId: evaluationId(run, { step, request }),
    schedules: [REQUESTED_SCHEDULE],
    isBlocking: false,
  };
}

/** The same evaluation in a workflow of its own, because the one before was ended. */
export function nextAttempt(run: string, old: PendingEvaluation): PendingEvaluation {
  const attempt = old.attempt + 1;
  return { ...old, attempt, workflowId: `${evaluationId(run, old)}/${attempt}` };
}

export function evaluationId(
  run: string,
  { step, request, late }: Pick<PendingEvaluation, 'step' | 'request' | 'late'>,
): string {
  const scheduled = `eval/${run}/${step}${late === undefined ? '' : `/late-${late}`}`;
  return request === undefined ? scheduled : `${scheduled}/request-${request}`;
}

/** What a child has to know of the schedules that wait for it. */
export type EvaluationTerms = Pick<EvaluateCheckpointInput, 'parts' | 'budgets'>;

export async function cancelEvaluations(pending: readonly PendingEvaluation[]): Promise<void> {
  for (const { workflowId } of pending) {
    try {
      await getExternalWorkflowHandle(workflowId).cancel();
    } catch (error) {
      log.warn('evaluation not cancelled', { workflowId, reason: failureMessage(error) });
    }
  }
}

/** Starts the child that scores a snapshot; it outlives the run's executions. */
export async function startEvaluation(
  run: string,
  pending: PendingEvaluation,
  { lineage, terms = {} }: { readonly lineage: number; readonly terms?: EvaluationTerms },
): Promise<void> {
  const { attempt, samplerPath } = pending;
  const evaluators = remainingOf(pending);
  try {
    await startChild(evaluateCheckpoint, {
      workflowId: pending.workflowId,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      args: [
        {
          ...{ run, attempt, lineage, samplerPath, evaluators, ...identityOf(pending) },
          ...terms,
          parentWorkflowId: `train/${run}`,
        },
      ],
    });
  } catch (error) {
    // It runs already, or ran: reconciling finds out which.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Which evaluators each schedule waits for, where they differ, and the limits of those that have some. */
export function termsOf(
  pending: PendingEvaluation,
  schedules: readonly EvaluationSchedule[],
): EvaluationTerms {
  const { waitedForBy } = pending;
  const evaluators = remainingOf(pending);
  const waiting = schedules.filter(({ name }) => waitedForBy?.includes(name) ?? true);
  const parts = waiting.map(({ name, evaluators: own }) => ({
    schedule: name,
    evaluators: own.filter((each) => evaluators.includes(each)),
  }));
  const budgets = evaluators.flatMap((name): [string, EvaluationBudget][] => {
    const budget = laxest(waiting.filter((schedule) => schedule.evaluators.includes(name)));
    return budget ? [[name, budget]] : [];
  });
  return {
    ...(waiting.some(({ overlap }) => overlap) && parts.length > 1 && { parts }),
    ...(budgets.length > 0 && { budgets: Object.fromEntries(budgets) }),
  };
}

/** An evaluator that several schedules ask for is measured once, with what the most generous one allows. */
function laxest(schedules: readonly EvaluationSchedule[]): EvaluationBudget | null {
  const budgets = schedules.map(({ budget }) => budget ?? {});
  const most = (limits: readonly (number | undefined)[]) =>
    limits.reduce((left, right) =>
      left === undefined || right === undefined ? undefined : Math.max(left, right),
    );
  if (budgets.length === 0) return null;
  const [tokens, seconds, dollars] = [
    most(budgets.map((budget) => budget.tokens)),
    most(budgets.map((budget) => budget.seconds)),
    most(budgets.map((budget) => budget.dollars)),
  ];
  const limits = {
    ...(tokens !== undefined && { tokens }),
    ...(seconds !== undefined && { seconds }),
    ...(dollars !== undefined && { dollars }),
  };
  return Object.keys(limits).length > 0 ? limits : null;
}

/** The cells of an evaluation that begins, each with the schedules that ask for it, also those of an earlier one. */
export function cellsOf(
  pending: PendingEvaluation,
  schedules: readonly EvaluationSchedule[],
  known: readonly EvaluationCell[],
): EvaluationCell[] {
  const { step, request } = pending;
  return remainingOf(pending).map((evaluator) => {
    const before = known.find((cell) => cell.step === step && cell.evaluator === evaluator);
    const asking =
      request === undefined
        ? schedules.filter((schedule) => schedule.evaluators.includes(evaluator)).map(({ name }) => name)
        : [...new Set([...(before?.schedules ?? []), REQUESTED_SCHEDULE])];
    return { step, evaluator, schedules: asking, status: pending.isQueued ? 'pending' : 'running' };
  });
}
