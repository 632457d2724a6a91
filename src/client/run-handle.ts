import type { ControlRow } from '../core/controls';
import type { Promotion } from '../core/controls/promotion';
import { DomainError } from '../core/errors';
import type { MetricsRow, RunState, ScoreRow, TimingRow } from '../core/run';
import type { TimelineEntry } from '../core/timeline';
import { readPromotion } from '../stores/checkpoint-name';
import { findRunDamage } from '../stores/run-damage';
import type { StepSelection } from '../stores/step-rows';
import type { RunRecord } from '../training/run-folder';
import * as contracts from '../workflows/contracts';
import { evaluationsQuery, scoresQuery } from '../workflows/contracts';
import { checkSelection } from './check-selection';
import { cellsOfScores, mergeScores } from './merge-scores';
import type { ReportedCell } from './partial-scores';
import { withPartialScore } from './partial-scores';
import { allCells, unheardCells } from './run-cells';
import { RunChanges } from './run-changes';
import type { TimelineSources } from './run-timeline';
import { mergeTimeline } from './run-timeline';
import { unheardRun, unknownRun } from './unknown-run';
import { askServer, UNHEARD } from './ask-server';
import { pause } from './pause';
import type { RunRecords } from './run-records';
import type { ScoredCheckpoint } from './run-checkpoints';
import { withScores } from './run-checkpoints';
import type { RunReport } from './run-report';
import { isClosed, reportRun } from './run-report';
import { leftInStore } from './left-in-store';
import type * as Rollouts from './run-rollouts';
import type { ServerLink } from './server-link';
import type { RunMemo, WorkflowFacts } from './workflow-answers';
import { describeRun, queryRun } from './workflow-answers';

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
export class RunHandle extends RunChanges {
  private knownBefore: WorkflowFacts | null = null;
  /** The server is there and did not say whether it has the run. */
  private isUnheard = false;

  constructor(
    name: string,
    private readonly sources: RunSources,
  ) {
    super(name, sources.link);
  }

  /** Where the run stands. Refused with the known names when there is no such run. */
  async status(): Promise<RunReport> {
    const report = await this.find();
    if (report) return report;
    if (this.isUnheard) throw await unheardRun(this.name, this.sources);
    throw await unknownRun(this.name, this.sources.records);
  }

  /** Refuses a run that nobody knows, as `status` does. The server is asked only where the store has no such run. */
  protected async requireKnown(): Promise<void> {
    if (!(await this.sources.records.exists(this.name))) await this.status();
  }

  protected async whatHolds(): Promise<string | null> {
    const report = await this.find();
    if (report?.source !== 'workflow') return null;
    const { waitingFor, waits = [] } = report;
    return waitingFor?.what ?? (waits.length > 0 ? waits.join('; ') : null);
  }

  /** Nothing of a run that nobody knows is no answer. */
  private async ofKnown<Rows extends readonly unknown[]>(rows: Rows): Promise<Rows> {
    if (rows.length === 0) await this.requireKnown();
    return rows;
  }

  private async valueOfKnown<Value>(value: Value | null): Promise<Value | null> {
    if (value === null) await this.requireKnown();
    return value;
  }

  /** A server has just accepted the run: with no answer of it the run is being prepared, and not unknown. */
  noteAccepted(memo: RunMemo): this {
    const startedAt = new Date().toISOString();
    this.knownBefore = { isOpen: true, status: 'running', startedAt, closedAt: null, memo, waits: [] };
    return this;
  }

  /** Like `status`, with null for a run that nobody knows. */
  async find(): Promise<RunReport | null> {
    const { link, records } = this.sources;
    const state = await records.readState(this.name);
    const shared = { run: this.name, workflowId: this.workflowId, state, now: new Date().toISOString() };
    if (state && isClosed(state)) return reportRun({ ...shared, live: null, facts: null, server: null });

    const client = await link.find();
    const heard = client ? await askServer(client, this.name, link.target) : UNHEARD;
    this.isUnheard = client !== null && heard.facts === null;
    if (heard.facts !== null && heard.facts !== 'missing') this.knownBefore = heard.facts;
    const latest = (await this.latestState()) ?? state;
    return reportRun({
      ...shared,
      knownBefore: this.knownBefore,
      state: latest,
      ...heard,
      ...(heard.live === null && (await leftInStore(records, this.name, latest))),
      server: link.target && link.description,
      whyAway: link.whyAway(),
    });
  }

  /** The newest row of `metrics.jsonl`; null before the first step is done. */
  async latestMetrics(): Promise<MetricsRow | null> {
    return this.valueOfKnown(await this.sources.records.readLastMetrics(this.name));
  }

  /** What its preparation counted of the data; null before that. `summary` is absent where prompts are sampled, not rows trained. */
  async preparedData(): Promise<RunRecord['data'] | null> {
    const { records } = this.sources;
    if (!(await records.exists(this.name))) return this.valueOfKnown(null);
    const record = await records.readConfig<Partial<RunRecord>>(this.name).catch(() => null);
    return record?.data ?? null;
  }

  /** Read again, because the run may have been closed meanwhile. A step counts as done when its row is there. */
  private async latestState(): Promise<RunState | null> {
    const { records } = this.sources;
    const state = await records.readState(this.name);
    if (!state || isClosed(state)) return state;
    return { ...state, step: Math.max(state.step, (await records.readLastMetrics(this.name))?.step ?? 0) };
  }

  async scores(): Promise<ScoreRow[]> {
    const [stored, live] = await Promise.all([
      this.sources.records.readScores(this.name),
      this.ask(scoresQuery),
    ]);
    return this.ofKnown(mergeScores(stored, live ?? []));
  }

  /** Every cell: done, failed, or under way with what it has so far. */
  async evaluations(): Promise<ReportedCell[]> {
    const [stored, live] = await Promise.all([
      this.sources.records.readScores(this.name),
      this.ask(evaluationsQuery),
    ]);
    const cells = await allCells(cellsOfScores(stored), live, {
      isClosed: () => this.isClosedOnServer(),
      unheard: async (final) => unheardCells(this.sources.records, await this.find(), final),
    });
    const folder = this.sources.records.runFolder(this.name);
    return Promise.all((await this.ofKnown(cells)).map((cell) => withPartialScore(cell, folder)));
  }

  private async isClosedOnServer(): Promise<boolean> {
    const client = await this.sources.link.find();
    const facts = client && (await describeRun(client, this.name));
    return facts !== null && facts !== 'missing' && !facts.isOpen;
  }

  /** Rows of `metrics.jsonl`: a range of steps, the newest, or some evenly spread. */
  async metrics(selection: StepSelection = {}): Promise<readonly MetricsRow[]> {
    return this.ofKnown(
      await this.sources.records.readMetrics(this.name, checkSelection('metrics', selection)),
    );
  }

  /** What of its rows cannot be read and is left out wherever they are shown, in a sentence a file; empty where all is well. */
  async damage(): Promise<readonly string[]> {
    return findRunDamage(this.sources.records.runFolder(this.name));
  }

  /** Every checkpoint with the scores of its step. */
  async checkpoints(): Promise<readonly ScoredCheckpoint[]> {
    const [rows, scores] = await Promise.all([
      this.sources.records.readCheckpoints(this.name),
      this.scores(),
    ]);
    return withScores(rows, scores);
  }

  /** Changes people made while it ran. */
  async controls(): Promise<readonly ControlRow[]> {
    const [stored, live] = await Promise.all([
      this.sources.records.readControls(this.name),
      this.ask(contracts.controlsQuery),
    ]);
    const known = new Map(
      [...stored, ...(live ?? [])].map((row) => [JSON.stringify([row.at, row.control]), row]),
    );
    return this.ofKnown([...known.values()].sort((left, right) => left.at.localeCompare(right.at)));
  }

  /** The checkpoint somebody promoted last; null where nobody did. */
  async best(): Promise<Promotion | null> {
    return this.valueOfKnown(await readPromotion(this.sources.records.runFolder(this.name)));
  }

  /** When each step was done and how long its parts took. */
  async timing(selection: StepSelection = {}): Promise<readonly TimingRow[]> {
    return this.ofKnown(
      await this.sources.records.readTiming(this.name, checkSelection('timing', selection)),
    );
  }

  /** Everything that happened to the run, in order: saves, evaluations, changes, waits, rewinds. */
  async timeline(): Promise<readonly TimelineEntry[]> {
    const { records } = this.sources;
    const saved = records.readCheckpoints(this.name);
    // Scores and changes are written before anybody hears of them; of events the workflow holds the newest.
    const [report, checkpoints, timing, scores, controls, events, live] = await Promise.all([
      this.bounds(),
      saved,
      saved.then((rows) => this.timing({ steps: rows.map(({ step }) => step) })),
      records.readScores(this.name),
      records.readControls(this.name),
      records.readEvents(this.name),
      this.ask(contracts.timelineQuery),
    ]);
    return mergeTimeline({
      report,
      checkpoints,
      scores,
      controls,
      events: [...events, ...(live ?? [])],
      timing,
    });
  }

  /** When it began and ended, without a question to the workflow: of a run that goes on, the store knows as much. */
  private async bounds(): Promise<TimelineSources['report']> {
    const state = await this.sources.records.readState(this.name);
    if (!state || isClosed(state)) return this.status();
    const client = await this.sources.link.find();
    const facts = client && (await describeRun(client, this.name));
    return facts === null || facts === 'missing' || facts.isOpen ? state : this.status();
  }

  /** The config the run was started with, completed; null before it is prepared. */
  async config(): Promise<Record<string, unknown> | null> {
    try {
      const config = await this.sources.records.readConfig(this.name);
      return config;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'unknown-run') return this.valueOfKnown(null);
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

  /** What a reinforcement run sampled and trained on. */
  rollouts(): Rollouts.RunRollouts {
    // Few commands ask for them, and they bring along how a step is computed.
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
    const { RunRollouts } = require('./run-rollouts') as typeof Rollouts;
    return new RunRollouts(this.name, this.sources.records, () => this.requireKnown());
  }

  /** Where its files are; null for a run that left none, because it was refused while it was prepared. */
  async folder(): Promise<string | null> {
    const { records } = this.sources;
    return this.valueOfKnown((await records.exists(this.name)) ? records.runFolder(this.name) : null);
  }

  private async ask<Answer>(query: Parameters<typeof queryRun<Answer>>[2]): Promise<Answer | null> {
    const state = await this.sources.records.readState(this.name);
    if (state && isClosed(state)) return null;
    const client = await this.sources.link.find();
    return client && queryRun(client, this.name, query);
  }
}
