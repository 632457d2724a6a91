import type { RunHandle } from '../client/run-handle';
import { pause } from '../client/run-handle';
import type { RunReport } from '../client/run-report';
import { isClosed } from '../client/run-report';
import type { MetricsRow, ScoreRow } from '../core/run';
import { escapeControls } from './escape-controls';
import type { Output } from './output';
import { formatNumber } from './number-format';
import { errorLine, scoreText } from './score-text';
import { createRate } from './watch-rate';
import { isPreparing, progressLine } from './watch-line';

export interface WatchOptions {
  readonly output: Output;
  /** Stops watching; the run is left alone. */
  readonly signal?: AbortSignal;
  readonly onReport?: (report: RunReport) => void;
}

const POLL_MS = { terminal: 400, plain: 1000 };
/** Without a terminal a line of progress is printed this often. */
const PLAIN_LINE_MS = 10_000;
/** A note is shown once it has held for this long. */
const NOTE_AFTER_MS = 8000;

/**
 * Shows a run until it has ended or `signal` fires: a bar at the bottom of a terminal, lines elsewhere, and a line for
 * every score, wait and rewind.
 */
export async function watchRun(
  handle: RunHandle,
  { output, signal, onReport }: WatchOptions,
): Promise<RunReport> {
  const view = new RunView(output);
  const period = output.isTerminal ? POLL_MS.terminal : POLL_MS.plain;
  try {
    for (;;) {
      const report = await handle.status();
      const [scores, metrics] = await Promise.all([handle.scores(), handle.latestMetrics()]);
      if (signal?.aborted && !isClosed(report)) return report;
      view.show(report, scores, metrics);
      onReport?.(report);
      if (isClosed(report)) return report;
      await pause(period, signal);
    }
  } finally {
    output.status(null);
  }
}

class RunView {
  private readonly shown = new Set<string>();
  private readonly rate = createRate();
  private latest: MetricsRow | null = null;
  private latestScore: ScoreRow | null = null;
  private note: { readonly text: string; readonly since: number; isShown?: boolean } | null = null;
  private waitingFor: string | null = null;
  private rewinds: number | null = null;
  private printedAt = Number.NEGATIVE_INFINITY;
  private printedStep = -1;
  private isPreparingShown = false;

  constructor(private readonly output: Output) {}

  show(report: RunReport, scores: readonly ScoreRow[], metrics: MetricsRow | null): void {
    this.latest = metrics;
    this.rate.add(report.step, performance.now());
    this.showChanges(report);
    this.showScores(scores);
    this.showProgress(report);
  }

  private showChanges(report: RunReport): void {
    if (isPreparing(report) && !this.isPreparingShown && !this.output.isTerminal) {
      this.output.note(`Run ${escapeControls(report.run)}: preparing…`);
      this.isPreparingShown = true;
    }
    const waitingFor = report.waitingFor?.what ?? null;
    if (waitingFor !== this.waitingFor && waitingFor !== null) {
      this.output.line(
        this.output.colors.yellow(`step ${report.step}: waiting for ${escapeControls(waitingFor)}`),
      );
    }
    this.showNote(report);
    if (this.rewinds !== null && report.rewinds > this.rewinds) {
      this.output.line(
        `step ${report.step}: the model was lost and opened again from a checkpoint (rewind ${report.rewinds}, ${report.stepsReplayed} steps trained again so far)`,
      );
    }
    this.waitingFor = waitingFor;
    this.rewinds = report.rewinds;
  }

  /** A worker that is just being replaced is no reason to tell a person to start one. */
  private showNote({ note, source }: RunReport): void {
    if (note !== this.note?.text) this.note = note === null ? null : { text: note, since: performance.now() };
    if (this.note === null || this.note.isShown) return;
    if (source === 'server' && performance.now() - this.note.since < NOTE_AFTER_MS) return;
    this.note.isShown = true;
    this.output.note(this.note.text);
  }

  private showScores(scores: readonly ScoreRow[]): void {
    for (const row of scores) {
      const identity = `${row.step} ${row.evaluator} ${row.metric}`;
      if (this.shown.has(identity)) continue;
      this.shown.add(identity);
      if (row.higherIsBetter === true || this.latestScore?.higherIsBetter !== true) this.latestScore = row;
      const what = `${escapeControls(row.evaluator)} ${escapeControls(row.metric)}`;
      const isFailure = row.error !== undefined;
      const outcome = isFailure ? `failed: ${errorLine(row)}` : `${scoreText(row)} (n ${row.n})`;
      const text = `step ${row.step}: ${what} ${outcome}`;
      this.output.line(isFailure ? this.output.colors.red(text) : this.output.colors.green(text));
    }
  }

  private showProgress(report: RunReport): void {
    const facts = { report, rate: this.rate.perSecond(), metrics: this.latest, score: this.latestScore };
    if (this.output.isTerminal) {
      this.output.status(progressLine(facts, this.output));
      return;
    }
    const isDue = performance.now() - this.printedAt >= PLAIN_LINE_MS || isClosed(report);
    if (!isDue || report.step === this.printedStep || report.totalSteps === 0) return;
    this.printedAt = performance.now();
    this.printedStep = report.step;
    const loss = this.latest?.['train/nll'];
    const nll = typeof loss === 'number' ? `, nll ${formatNumber(loss)}` : '';
    this.output.line(`step ${report.step} of ${report.totalSteps}${nll}`);
  }
}
