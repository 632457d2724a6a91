import type { RunHandle } from '../client/run-handle';
import { pause } from '../client/pause';
import type { RunReport } from '../client/run-report';
import { isClosed } from '../client/run-report';
import type { MetricsRow, ScoreRow } from '../core/run';
import { escapeControls } from './escape-controls';
import { headlineOf } from './headline-metric';
import type { Output } from './output';
import { formatNumber } from './number-format';
import { omissionOf, outcomeLine, scoreText } from './score-text';
import { silenceNoter } from './silent-evaluators';
import { createRate } from './watch-rate';
import { budgetText, newestScores, progressBlock } from './watch-block';
import { isPreparing, pauseText, speedText } from './watch-line';

export interface WatchOptions {
  readonly output: Output;
  /** Stops watching; the run is left alone. */
  readonly signal?: AbortSignal;
  readonly onReport?: (report: RunReport) => void | Promise<void>;
  readonly onScores?: (scores: readonly ScoreRow[]) => void;
  /** Which scores are printed; default all. */
  readonly isShown?: (score: ScoreRow) => boolean;
  /** Default 8 s. Longer where a stack is known to start its workers again. */
  readonly noteAfterMs?: number;
}

const POLL_MS = { terminal: 400, plain: 1000 };
/** Without a terminal a line of progress is printed this often. */
const PLAIN_LINE_MS = 10_000;
const KEPT_LOSSES = 200;
/** A note is shown once it has held for this long. */
const NOTE_AFTER_MS = 8000;

/**
 * Shows a run until it has ended or `signal` fires: a bar at the bottom of a terminal, lines elsewhere, and a line for
 * every score, wait and rewind.
 */
export async function watchRun(
  handle: RunHandle,
  { output, signal, onReport, onScores, isShown, noteAfterMs }: WatchOptions,
): Promise<RunReport> {
  const view = new RunView(output, noteAfterMs);
  if (output.isTerminal) view.remember(await handle.metrics({ last: KEPT_LOSSES }));
  const period = output.isTerminal ? POLL_MS.terminal : POLL_MS.plain;
  try {
    for (;;) {
      const report = await handle.status();
      const [scores, metrics] = await Promise.all([handle.scores(), handle.latestMetrics()]);
      if (signal?.aborted && !isClosed(report)) return report;
      view.show(report, wanted(scores, isShown), metrics);
      await onReport?.(report);
      onScores?.(scores);
      if (isClosed(report)) return report;
      await pause(period, signal);
    }
  } finally {
    output.status(null);
  }
}

function wanted(scores: readonly ScoreRow[], isShown: WatchOptions['isShown']): readonly ScoreRow[] {
  return isShown ? scores.filter(isShown) : scores;
}

class RunView {
  private readonly shown = new Set<string>();
  private isBegun = false;
  private readonly rate = createRate();
  private latest: MetricsRow | null = null;
  private latestScore: ScoreRow | null = null;
  private note: { readonly text: string; readonly since: number; isShown?: boolean } | null = null;
  private waiting: string | null = null;
  private rewinds: number | null = null;
  private printedAt = Number.NEGATIVE_INFINITY;
  private printedStep = -1;
  private isPreparingShown = false;
  private pause: string | null = null;
  private losses: readonly MetricsRow[] = [];
  private newest: readonly ScoreRow[] = [];
  private warnings: readonly string[] = [];
  private readonly noteSilence: (report: RunReport) => void;

  constructor(
    private readonly output: Output,
    private readonly noteAfterMs = NOTE_AFTER_MS,
  ) {
    this.noteSilence = silenceNoter(output);
  }

  /** Steps whose losses the line at the bottom draws. */
  remember(rows: readonly MetricsRow[]): void {
    this.losses = [...this.losses, ...rows].slice(-KEPT_LOSSES);
  }

  show(report: RunReport, scores: readonly ScoreRow[], metrics: MetricsRow | null): void {
    if (metrics && metrics.step !== this.latest?.step) this.remember([metrics]);
    this.latest = metrics;
    this.rate.add(report.step, performance.now());
    this.showChanges(report);
    this.showScores(scores, report);
    this.newest = newestScores(scores);
    this.showProgress(report);
  }

  private showChanges(report: RunReport): void {
    if (isPreparing(report) && !this.isPreparingShown && !this.output.isTerminal) {
      this.output.note(`Run ${escapeControls(report.run)}: preparing…`);
      this.isPreparingShown = true;
    }
    const waiting = waitText(report);
    if (waiting !== this.waiting && waiting !== null) {
      this.output.line(
        this.output.colors.yellow(`step ${report.step}: ${escapeControls(this.output.advice(waiting))}`),
      );
    }
    this.showNote(report);
    this.noteSilence(report);
    this.showPause(report);
    this.showBudget(report);
    if (this.rewinds !== null && report.rewinds > this.rewinds) {
      this.output.line(
        `step ${report.step}: the model was lost and opened again from a checkpoint (rewind ${report.rewinds}, ${report.stepsReplayed} steps trained again so far)`,
      );
    }
    this.waiting = waiting;
    this.rewinds = report.rewinds;
  }

  private showPause(report: RunReport): void {
    const text = pauseText(report);
    if (text === this.pause) return;
    const isOver = text === null && !isClosed(report);
    if (text !== null) this.output.line(this.output.colors.yellow(text));
    if (report.status === 'paused' && report.pause?.by === 'budget')
      this.output.note(budgetRemedy(report, this.output));
    else if (isOver) this.output.line(`step ${report.step}: goes on`);
    this.pause = text;
  }

  private showBudget(report: RunReport): void {
    const warnings = report.budget?.warnings ?? [];
    const fresh = warnings.filter((warning) => !this.warnings.includes(warning));
    if (fresh.length > 0) {
      const text = `step ${report.step}: ${budgetText(report) ?? 'budget'}, nearly used up`;
      this.output.line(this.output.colors.yellow(text));
    }
    this.warnings = warnings;
  }

  /** A worker that is just being replaced is no reason to tell a person to start one. */
  private showNote({ note, source }: RunReport): void {
    if (note !== this.note?.text) this.note = note === null ? null : { text: note, since: performance.now() };
    if (this.note === null || this.note.isShown) return;
    if (source === 'server' && performance.now() - this.note.since < this.noteAfterMs) return;
    this.note.isShown = true;
    this.output.note(this.note.text);
  }

  /** Who begins to watch sees where the run stands; what came before is in its list of scores. */
  private showScores(scores: readonly ScoreRow[], { run }: RunReport): void {
    const told = this.isBegun ? scores : newestScores(scores);
    if (told.length < scores.length) {
      const count = scores.length - told.length;
      this.output.note(
        `${count} earlier ${count === 1 ? 'score' : 'scores'}: ${this.output.hint(`runs scores ${run}`)}`,
      );
    }
    this.isBegun = true;
    for (const row of told) this.showScore(row);
    for (const row of scores) this.shown.add(identityOf(row));
  }

  private showScore(row: ScoreRow): void {
    if (this.shown.has(identityOf(row))) return;
    this.shown.add(identityOf(row));
    if (row.higherIsBetter === true || this.latestScore?.higherIsBetter !== true) this.latestScore = row;
    const { green, red, yellow } = this.output.colors;
    if (row.error !== undefined) {
      const text = `step ${row.step}: ${escapeControls(row.evaluator)} ${this.output.advice(outcomeLine(row))}`;
      this.output.line(omissionOf(row) === null ? red(text) : yellow(text));
      return;
    }
    const what = `${escapeControls(row.evaluator)} ${escapeControls(row.metric)}`;
    this.output.line(green(`step ${row.step}: ${what} ${scoreText(row)} (n ${row.n})`));
  }

  private showProgress(report: RunReport): void {
    const facts = {
      report,
      rate: this.rate.perSecond(),
      metrics: this.latest,
      score: this.latestScore,
      losses: lossesOf(this.losses),
    };
    if (this.output.isTerminal) {
      this.output.status(progressBlock({ ...facts, newest: this.newest, now: new Date() }, this.output));
      return;
    }
    const isDue = performance.now() - this.printedAt >= PLAIN_LINE_MS || isClosed(report);
    if (!isDue || report.step === this.printedStep || report.totalSteps === 0) return;
    this.printedAt = performance.now();
    this.printedStep = report.step;
    const headline = headlineOf(this.latest);
    const text = headline ? `, ${headline.label} ${formatNumber(headline.value)}` : '';
    this.output.line(`step ${report.step} of ${report.totalSteps}${text}${speedText(facts)}`);
  }
}

function identityOf({ step, evaluator, metric }: ScoreRow): string {
  return `${step} ${evaluator} ${metric}`;
}

function lossesOf(rows: readonly MetricsRow[]): number[] {
  return rows.flatMap((row) => headlineOf(row)?.value ?? []);
}

/** How a run goes on that its budget keeps. */
function budgetRemedy({ run, budget }: RunReport, output: Output): string {
  const limits = (['tokens', 'seconds', 'dollars'] as const).filter(
    (name) => typeof budget?.limits[name] === 'number',
  );
  const settings = (limits.length > 0 ? limits : ['tokens']).map((name) => `budget.${name}=…`).join(' ');
  return `Raise what is used up (or take it away with =none): ${output.hint(`runs set ${run} ${settings}`)}, then ${output.hint(`runs resume ${run}`)}`;
}

function waitText({ waitingFor, waits = [] }: RunReport): string | null {
  if (waitingFor) return `waiting for ${waitingFor.what}`;
  return waits.length === 0 ? null : waits.join('; ');
}
