import type { Client } from '@temporalio/client';
import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TemporalFailure, TerminatedFailure } from '@temporalio/common';
import { z } from 'zod';
import type { BenchmarkRequest } from '../core/benchmark-run';
import { untilAborted } from '../core/concurrency/until-aborted';
import { DomainError } from '../core/errors';
import { TASK_QUEUES, WORKFLOW_TASK_TIMEOUT } from '../core/task-queues';
import type { RunBenchmarkInput } from '../workflows/benchmark-contracts';
import { searchAttributesOfEval } from '../workflows/eval-attributes';
import { linkedAbort } from '../evaluation/linked-abort';
import { findPlan } from '../evaluation/runner/benchmark-plan';
import type { OptionDifference } from '../evaluation/runner/option-differences';
import { differencesText } from '../evaluation/runner/option-differences';
import type * as EvalIdentity from './eval-identity';
import { differencesOf } from './eval-requests';
import { failingTask, placeWaitOfAll, waitOf } from './pending-work';
import { pause } from './pause';
import type { ServerLink } from './server-link';
import { silenceText, silentEvaluators } from './silent-evaluators';
import { timeoutWords } from './timeout-words';
import { ANSWER_LIMIT_MS } from './workflow-answers';

/** Why a benchmark has no result, in the words it failed with. */
export interface BenchmarkFailure {
  readonly name: string;
  /** An ErrorCode of the domain where it is one. */
  readonly code: string | null;
  readonly message: string;
  /** Somebody called it off; nothing is wrong with it. */
  readonly isCancelled?: true;
}

/** How a workflow ended. */
export type WorkflowOutcome<Value> = { readonly value: Value } | { readonly failure: BenchmarkFailure };

/** A workflow to wait for. */
export interface AwaitedWorkflow {
  /** Of the benchmark or evaluator. */
  readonly name: string;
  readonly workflowId: string;
}

const AWAY_PAUSE_MS = 1000;
/** The client adds a listener to its signal with each long poll, every 20 s, and removes none. */
const ROUND_MS = 100_000;
const Memo = z.object({ request: z.custom<BenchmarkRequest>((value) => typeof value === 'object') });

export function benchmarkWorkflowId({ run, benchmark }: Pick<BenchmarkRequest, 'run' | 'benchmark'>): string {
  return `bench/${run}/${benchmark}`;
}

/** Starts a benchmark, or attaches to it where it is under way. Refuses to attach where something else was asked for. */
export async function startBenchmark(
  client: Client,
  request: BenchmarkRequest,
  useSearchAttributes: boolean,
): Promise<void> {
  const workflowId = benchmarkWorkflowId(request);
  const input: RunBenchmarkInput = { request, ...(useSearchAttributes && { useSearchAttributes }) };
  const { run, model } = request;
  try {
    await client.workflow.start('runBenchmark', {
      workflowId,
      taskQueue: TASK_QUEUES.workflows,
      args: [input],
      memo: { request },
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      ...(useSearchAttributes && {
        typedSearchAttributes: searchAttributesOfEval('benchmark', { run, model: model.model }),
      }),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    await refuseOtherRequest(client, request);
  }
}

async function refuseOtherRequest(client: Client, request: BenchmarkRequest): Promise<void> {
  const { memo } = await client.workflow.getHandle(benchmarkWorkflowId(request)).describe();
  const underWay = Memo.safeParse(memo).data?.request;
  const asked = underWay ? differencesOf(underWay, request) : [];
  const differences = asked.length > 0 ? asked : await changesSince(request);
  if (differences.length === 0) return;
  throw new DomainError(
    'refused',
    `${request.benchmark} of eval run "${request.run}" is under way with ${differencesText(differences)}. Use another --run NAME, or wait for its end.`,
  );
}

/** What it was begun with and is not there any more. */
async function changesSince(request: BenchmarkRequest): Promise<readonly OptionDifference[]> {
  const plan = await findPlan(request);
  if (!plan || request.isRegrading) return [];
  // Graders and renderers come along, and most commands attach to nothing.
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
  const { presentDifferences } = require('./eval-identity') as typeof EvalIdentity;
  return presentDifferences(request, plan);
}

/** Waits for the end, also while the server is away. null when `signal` fires first. */
export async function awaitWorkflow<Value>(
  link: ServerLink,
  workflow: AwaitedWorkflow,
  signal?: AbortSignal,
): Promise<WorkflowOutcome<Value> | null> {
  for (;;) {
    const outcome = await unlessFired(askForRound<Value>(link, workflow, signal), signal);
    if (outcome === 'goes on') continue;
    if (outcome !== 'away') return outcome;
    await pause(AWAY_PAUSE_MS, signal);
    if (signal?.aborted) return null;
  }
}

/** Each round has a signal of its own, with which its listeners go. */
async function askForRound<Value>(
  link: ServerLink,
  workflow: AwaitedWorkflow,
  signal: AbortSignal | undefined,
): Promise<WorkflowOutcome<Value> | 'away' | 'goes on'> {
  if (!signal) return askForEnd(link, workflow);
  const round = linkedAbort(signal);
  const timer = setTimeout(() => {
    round.abort(new Error('this round is over'));
  }, ROUND_MS);
  try {
    const outcome = await askForEnd<Value>(link, workflow, round.signal);
    return outcome === 'away' && round.signal.aborted ? 'goes on' : outcome;
  } finally {
    clearTimeout(timer);
    round.release();
  }
}

async function askForEnd<Value>(
  link: ServerLink,
  { name, workflowId }: AwaitedWorkflow,
  signal?: AbortSignal,
): Promise<WorkflowOutcome<Value> | 'away'> {
  const client = await link.find();
  if (!client) return 'away';
  try {
    const ask = () => client.workflow.getHandle<() => Promise<Value>>(workflowId).result();
    // Left open, the call would be tried again when the connection is closed, and end the process.
    return { value: await (signal ? client.withAbortSignal(signal, ask) : ask()) };
  } catch (error) {
    if (error instanceof WorkflowFailedError) {
      const isCalledOff = error.cause instanceof CancelledFailure || error.cause instanceof TerminatedFailure;
      if (!isCalledOff) return { failure: failureIn(name, error) };
      return { failure: calledOff(name, await whoEnded(client, workflowId)) };
    }
    if (error instanceof WorkflowNotFoundError) return { failure: lost(name) };
    return 'away';
  }
}

/** How a workflow ended that has no result; null where it goes on, or nobody knows. */
export async function findFailure(
  link: ServerLink,
  workflow: AwaitedWorkflow,
): Promise<BenchmarkFailure | null> {
  const client = await link.find();
  if (!client) return null;
  try {
    const handle = client.workflow.getHandle(workflow.workflowId);
    const { status } = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () => handle.describe());
    if (status.name === 'RUNNING') return null;
  } catch {
    return null;
  }
  const outcome = await askForEnd(link, workflow);
  return outcome !== 'away' && 'failure' in outcome ? outcome.failure : null;
}

/** What keeps a benchmark waiting, as its attempts say; null where nothing does. */
export async function waitingReason(link: ServerLink, workflowId: string): Promise<string | null> {
  const client = await link.find();
  if (!client) return `the Temporal server at ${link.description} does not answer`;
  try {
    const handle = client.workflow.getHandle(workflowId);
    const { raw } = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () => handle.describe());
    const pending = raw.pendingActivities ?? [];
    const now = Date.now();
    const told = pending.map(waitOf).find((reason) => reason !== null);
    const silence = silentEvaluators(pending, now).map(silenceText)[0];
    return failingTask(raw.pendingWorkflowTask) ?? told ?? silence ?? placeWaitOfAll(pending, now);
  } catch {
    return `the Temporal server at ${link.description} does not answer`;
  }
}

/** null when `signal` fires first. */
async function unlessFired<Value>(work: Promise<Value>, signal?: AbortSignal): Promise<Value | null> {
  if (!signal) return work;
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

function failureIn(name: string, error: WorkflowFailedError): BenchmarkFailure {
  const words = timeoutWords(error.cause);
  let cause: unknown = error.cause;
  while (cause instanceof TemporalFailure && !(cause instanceof ApplicationFailure)) cause = cause.cause;
  if (cause instanceof ApplicationFailure) return { name, code: cause.type ?? null, message: cause.message };
  return { name, code: null, message: words ?? error.cause?.message ?? error.message };
}

/** The process or person in the server's record; null where the record cannot be read. */
async function whoEnded(client: Client, workflowId: string): Promise<string | null> {
  try {
    const { events } = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      client.workflow.getHandle(workflowId).fetchHistory(),
    );
    const identities = (events ?? []).map(
      ({
        workflowExecutionCancelRequestedEventAttributes: asked,
        workflowExecutionTerminatedEventAttributes: ended,
      }) => asked?.identity ?? ended?.identity,
    );
    return identities.findLast((identity) => identity) ?? null;
  } catch {
    return null;
  }
}

function calledOff(name: string, who: string | null): BenchmarkFailure {
  const by = who === null ? '' : ` by ${who}`;
  return {
    name,
    code: null,
    isCancelled: true,
    message: `cancelled${by}. What was answered is kept: the same command goes on from there.`,
  };
}

function lost(name: string): BenchmarkFailure {
  return {
    name,
    code: null,
    message: `The server no longer knows this evaluation. Give the same command again: what is journalled counts.`,
  };
}
