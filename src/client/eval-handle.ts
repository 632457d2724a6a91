import type { BenchmarkRequest, BenchmarkSummary } from '../core/benchmark-run';
import type { TakenAnswers } from '../core/result-origin';
import { findPlan } from '../evaluation/runner/benchmark-plan';
import { summaryOf } from '../evaluation/runner/summary-of';
import { loadResult } from '../stores/eval-store';
import type * as EvalIdentity from './eval-identity';
import type { BenchmarkProgress } from './eval-progress';
import { readBenchmarkProgress } from './eval-progress';
import { differencesOf } from './eval-requests';
import type { BenchmarkFailure, WorkflowOutcome } from './eval-workflow';
import { awaitWorkflow, benchmarkWorkflowId, startBenchmark, waitingReason } from './eval-workflow';
import { ensureSearchAttributes } from './search-attributes';
import type { ServerLink } from './server-link';

/** How an eval run ended: the document of `everstep eval --json`, and what failed. */
export interface EvalReport {
  readonly run: string;
  /** Folder of its results. */
  readonly dir: string;
  readonly benchmarks: readonly BenchmarkSummary[];
  readonly failures: readonly BenchmarkFailure[];
}

/** What a benchmark is asked with, defaults included. */
export interface AskingSettings {
  readonly name: string;
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  readonly numSamples: number;
  /** Requests in flight. */
  readonly concurrency: number;
  /** What another eval run had answered already; null where none was named. */
  readonly taken: TakenAnswers | null;
  readonly sampleCount: number;
}

interface PendingBenchmark {
  readonly request: BenchmarkRequest;
  /** What was there already. */
  readonly stored: BenchmarkSummary | null;
}

/**
 * Starts the benchmarks of an eval run that are not finished yet, or attaches to those under way.
 *
 * A result without errors is taken as it is stored; one with errors is completed: only what failed is asked again.
 */
export async function startEval(
  link: ServerLink,
  requests: readonly BenchmarkRequest[],
): Promise<EvalHandle> {
  const pending = await lookUp(requests);
  const unfinished = pending.filter(({ stored }) => stored === null);
  if (unfinished.length > 0) {
    const client = await link.require();
    const useSearchAttributes = await ensureSearchAttributes(client);
    await Promise.all(unfinished.map(({ request }) => startBenchmark(client, request, useSearchAttributes)));
  }
  return new EvalHandle(link, pending);
}

/** An eval run whose results are all there and without errors; null where something is left to do. */
export async function findFinishedEval(
  link: ServerLink,
  requests: readonly BenchmarkRequest[],
): Promise<EvalHandle | null> {
  const pending = await lookUp(requests);
  return pending.every(({ stored }) => stored !== null) ? new EvalHandle(link, pending) : null;
}

function lookUp(requests: readonly BenchmarkRequest[]): Promise<PendingBenchmark[]> {
  return Promise.all(requests.map(async (request) => ({ request, stored: await findStored(request) })));
}

async function settingsOf(request: BenchmarkRequest): Promise<AskingSettings | null> {
  const plan = await findPlan(request);
  if (!plan || plan.isKind || request.isRegrading) return null;
  const { temperature, topP, maxTokens } = plan.generation;
  const { concurrency, numSamples } = request;
  return {
    ...{ name: request.benchmark, temperature, topP, maxTokens, numSamples, concurrency },
    taken: plan.answers ?? null,
    sampleCount: plan.exampleCount * numSamples,
  };
}

/** What needs no workflow: a result without errors that is made of what is asked for now. What it is made of else, a plan refuses. */
async function findStored(request: BenchmarkRequest): Promise<BenchmarkSummary | null> {
  const plan = await findPlan(request);
  if (!plan || differencesOf(plan.request, request).length > 0) return null;
  if (isOfPackage(request) || request.isRegrading) return null;
  const result = await loadResult(request.folder, request.benchmark);
  if (!result || result.num_errors > 0) return null;
  // Graders and renderers come along, and most commands find no result.
  // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
  const { isMadeAsAsked } = require('./eval-identity') as typeof EvalIdentity;
  return (await isMadeAsAsked(request, { plan, result })) ? summaryOf(result) : null;
}

/** Which version of its package is there now, a worker knows. */
function isOfPackage({ inspectTask: task }: BenchmarkRequest): boolean {
  return task !== undefined && task.source === undefined;
}

/** One eval run: benchmarks of one model that go on whether anybody waits for them or not. */
export class EvalHandle {
  constructor(
    private readonly link: ServerLink,
    private readonly benchmarks: readonly PendingBenchmark[],
  ) {}

  get run(): string {
    return this.benchmarks[0]?.request.run ?? '';
  }

  get folder(): string {
    return this.benchmarks[0]?.request.folder ?? '';
  }

  get names(): readonly string[] {
    return this.benchmarks.map(({ request }) => request.benchmark);
  }

  /** Names of the benchmarks whose results were there already. */
  get storedNames(): readonly string[] {
    return this.benchmarks.flatMap(({ stored }) => (stored ? [stored.name] : []));
  }

  /** How far each benchmark is that is not finished; partial scores. */
  async progress(): Promise<BenchmarkProgress[]> {
    const all = await Promise.all(
      this.benchmarks.map(async ({ request, stored }) => (stored ? null : readBenchmarkProgress(request))),
    );
    return all.filter((progress) => progress !== null);
  }

  /** Of the benchmarks that are asked and planned; tasks measured by likelihood have none. */
  async settings(): Promise<AskingSettings[]> {
    const unfinished = this.benchmarks.filter(({ stored }) => stored === null);
    const all = await Promise.all(unfinished.map(({ request }) => settingsOf(request)));
    return all.filter((settings) => settings !== null);
  }

  /** What the benchmarks wait for, e.g. an endpoint that is away. */
  async waitingReasons(): Promise<string[]> {
    const unfinished = this.benchmarks.filter(({ stored }) => stored === null);
    const reasons = await Promise.all(
      unfinished.map(({ request }) => waitingReason(this.link, benchmarkWorkflowId(request))),
    );
    return [...new Set(reasons.filter((reason) => reason !== null))];
  }

  /** Waits until all benchmarks have ended. null when `signal` fires first; they go on. */
  async result({ signal }: { readonly signal?: AbortSignal } = {}): Promise<EvalReport | null> {
    const outcomes = await Promise.all(this.benchmarks.map((benchmark) => this.outcome(benchmark, signal)));
    const ended = outcomes.filter((outcome) => outcome !== null);
    if (ended.length < outcomes.length) return null;
    return {
      run: this.run,
      dir: this.folder,
      benchmarks: ended.flatMap((outcome) => ('value' in outcome ? [outcome.value] : [])),
      failures: ended.flatMap((outcome) => ('failure' in outcome ? [outcome.failure] : [])),
    };
  }

  private async outcome(
    { request, stored }: PendingBenchmark,
    signal?: AbortSignal,
  ): Promise<WorkflowOutcome<BenchmarkSummary> | null> {
    if (stored) return { value: stored };
    const workflow = { name: request.benchmark, workflowId: benchmarkWorkflowId(request) };
    return awaitWorkflow(this.link, workflow, signal);
  }
}
