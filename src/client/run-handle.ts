import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import type { ControlReceipt, ControlRequest, ControlRow } from '../core/controls';
import { DomainError } from '../core/errors';
import type { CheckpointRow, EvaluationCell, MetricsRow, RunState, ScoreRow, TimingRow } from '../core/run';
import { readLastRow } from '../stores/last-row';
import type { StepRange } from '../stores/run-store';
import {
  evaluationsQuery,
  explainCancelUpdate,
  scoresQuery,
  statusQuery,
  stopUpdate,
} from '../workflows/contracts';
import { cellsOfScores, mergeCells, mergeScores } from './merge-scores';
import type { ControlOptions, StopOptions } from './run-controls';
import { controlRequest, requestChange, stopRequest } from './run-controls';
import type { RunRecords } from './run-records';
import type { RunReport } from './run-report';
import { isClosed, reportRun } from './run-report';
import type { ServerLink } from './server-link';
import { ANSWER_LIMIT_MS, describeRun, failureOf, queryRun, workflowIdOf } from './workflow-answers';

export interface RunSources {
  readonly link: ServerLink;
  readonly records: RunRecords;
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  readonly onReport?: (report: RunReport) => void;
}

const POLL_MS = 500;

/**
 * One run, asked in typed calls.
 *
 * Every call merges what the running workflow says with what the store holds, so it also works for closed runs and
 * with the server away.
 */
export class RunHandle {
  constructor(
    readonly name: string,
    private readonly sources: RunSources,
  ) {}

  get workflowId(): string {
    return workflowIdOf(this.name);
  }

  /** Where the run stands. Refused with the known names when there is no such run. */
  async status(): Promise<RunReport> {
    const report = await this.find();
    if (report) return report;
    const known = (await this.sources.records.listRuns()).map((state) => state.run);
    throw new DomainError('unknown-run', `Unknown run "${this.name}". ${listKnown(known)}`);
  }

  /** Like `status`, with null for a run that nobody knows. */
  async find(): Promise<RunReport | null> {
    const { link, records } = this.sources;
    const state = await records.readState(this.name);
    const shared = { run: this.name, workflowId: this.workflowId, state, now: new Date().toISOString() };
    if (state && isClosed(state)) return reportRun({ ...shared, live: null, facts: null, server: null });

    const client = await link.find();
    const [facts, live] = client
      ? await Promise.all([describeRun(client, this.name), queryRun(client, this.name, statusQuery)])
      : [null, null];
    const hasFailed = facts !== null && facts !== 'missing' && facts.status === 'failed';
    return reportRun({
      ...shared,
      state: (await this.latestState()) ?? state,
      facts,
      live,
      server: link.target && link.description,
      failure: client && hasFailed ? await failureOf(client, this.name) : null,
    });
  }

  /** The newest row of `metrics.jsonl`; null before the first step is done. */
  async latestMetrics(): Promise<MetricsRow | null> {
    return readLastRow<MetricsRow>(path.join(this.sources.records.runFolder(this.name), 'metrics.jsonl'));
  }

  /** Read again, because the run may have been closed meanwhile. A step counts as done when its row is there. */
  private async latestState(): Promise<RunState | null> {
    const state = await this.sources.records.readState(this.name);
    if (!state || isClosed(state)) return state;
    return { ...state, step: Math.max(state.step, (await this.latestMetrics())?.step ?? 0) };
  }

  async scores(): Promise<ScoreRow[]> {
    const [stored, live] = await Promise.all([
      this.sources.records.readScores(this.name),
      this.ask(scoresQuery),
    ]);
    return mergeScores(stored, live ?? []);
  }

  async evaluations(): Promise<EvaluationCell[]> {
    const [stored, live] = await Promise.all([
      this.sources.records.readScores(this.name),
      this.ask(evaluationsQuery),
    ]);
    return mergeCells(cellsOfScores(stored), live ?? []);
  }

  async metrics(range: StepRange = {}): Promise<readonly MetricsRow[]> {
    return this.sources.records.readMetrics(this.name, range);
  }

  async checkpoints(): Promise<readonly CheckpointRow[]> {
    return this.sources.records.readCheckpoints(this.name);
  }

  /** Changes people made while it ran. */
  async controls(): Promise<readonly ControlRow[]> {
    return this.sources.records.readControls(this.name);
  }

  /** When each step was done and how long its parts took. */
  async timeline(): Promise<readonly TimingRow[]> {
    return this.sources.records.readTiming(this.name);
  }

  /** The config the run was started with, completed; null before it is prepared. */
  async config(): Promise<Record<string, unknown> | null> {
    try {
      const config = await this.sources.records.readConfig(this.name);
      return config;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'unknown-run') return null;
      throw error;
    }
  }

  /**
   * Waits until the run has ended, however it ends, and says how. `signal` stops the waiting and leaves the run alone.
   */
  async result({ signal, onReport }: WaitOptions = {}): Promise<RunReport> {
    for (;;) {
      const report = await this.status();
      onReport?.(report);
      if (isClosed(report)) return report;
      if (signal?.aborted) return report;
      await pause(POLL_MS, signal);
    }
  }

  /** Where its files are; null for a run that left none, because it was refused while it was prepared. */
  async folder(): Promise<string | null> {
    const { records } = this.sources;
    return (await records.exists(this.name)) ? records.runFolder(this.name) : null;
  }

  /**
   * Ends the run after a step: the step is finished, saved and evaluated as a last one is. Returns the step as soon as it
   * is sure; `result` waits for the end.
   */
  async stop(options: StopOptions = {}): Promise<ControlReceipt> {
    const client = await this.sources.link.require();
    return requestChange(client, { run: this.name, update: stopUpdate, request: stopRequest(options) });
  }

  /** Ends the run at once. What it reached is saved where that is quick; its checkpoints and scores stay. */
  async cancel(options: ControlOptions = {}): Promise<void> {
    const client = await this.sources.link.require();
    const request = controlRequest(options);
    await this.explainCancel(client, request);
    const { namespace, identity } = client.options;
    await client.workflowService.requestCancelWorkflowExecution({
      namespace,
      identity,
      requestId: randomUUID(),
      workflowExecution: { workflowId: this.workflowId },
      reason: request.reason,
    });
  }

  /** A run without a worker, or one that is ending, cannot note it; it is cancelled all the same. */
  private async explainCancel(client: Client, request: ControlRequest): Promise<void> {
    try {
      await requestChange(client, {
        run: this.name,
        update: explainCancelUpdate,
        request,
        limitMs: ANSWER_LIMIT_MS,
      });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }

  private async ask<Answer>(query: Parameters<typeof queryRun<Answer>>[2]): Promise<Answer | null> {
    const state = await this.sources.records.readState(this.name);
    if (state && isClosed(state)) return null;
    const client = await this.sources.link.find();
    return client && queryRun(client, this.name, query);
  }
}

function listKnown(known: readonly string[]): string {
  if (known.length === 0) return 'The store has no runs yet.';
  const shown = known.slice(0, 20).join(', ');
  return `Known: ${shown}${known.length > 20 ? ` and ${known.length - 20} more` : ''}.`;
}

/** Ends early, without an error, when the signal fires. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done, { once: true });
    if (signal?.aborted) done();
  });
}
