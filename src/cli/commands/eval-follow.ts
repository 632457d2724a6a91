import path from 'node:path';
import { anySignal } from '../../core/concurrency/any-signal';
import type { AskingSettings, EvalHandle, EvalReport } from '../../client/eval-handle';
import type { BenchmarkProgress } from '../../client/eval-progress';
import type { BenchmarkFailure } from '../../client/eval-workflow';
import { pause } from '../../client/pause';
import type { BenchmarkSummary } from '../../core/benchmark-run';
import type { TakenAnswers } from '../../core/result-origin';
import { asSentence } from '../../core/sentences';
import { shellWord } from '../../core/shell-word';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT, exitCodeOf, refusalOf } from '../exit-codes';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { printTable } from '../tables';

interface FollowOptions {
  readonly session: Session;
  readonly output: Output;
  /** Ctrl-C: stop following. */
  readonly signal: AbortSignal;
}

const POLL_MS = 500;
/** Without a terminal a line of progress is printed this often. */
const PLAIN_LINE_MS = 3000;
/** What it waits for is asked this often. */
const REASONS_MS = 3000;

/** Shows how far an eval run is until it has ended or the person has seen enough, and how it ended. */
export async function followEval(handle: EvalHandle, options: FollowOptions): Promise<number> {
  const { output, signal } = options;
  if (handle.storedNames.length > 0) {
    output.note(`Stored already: ${handle.storedNames.join(', ')}. Another --run NAME asks anew.`);
  }
  output.note(`Eval run ${handle.run}: results in ${handle.folder}`);
  const over = new AbortController();
  const view = new EvalView(handle, output);
  const watching = watch(view, output, anySignal([signal, over.signal]));
  let report: EvalReport | null;
  try {
    report = await handle.result({ signal });
  } finally {
    over.abort();
    // A watcher that is still asking would ask a connection that is closed next.
    await watching;
    output.status(null);
  }
  if (!report) return leave(handle, options);
  // A short one is over before anybody has looked.
  await view.showSettings();
  const code = printReport(report, { output, told: view.told });
  printNext(report, options);
  return code;
}

async function watch(view: EvalView, output: Output, signal: AbortSignal): Promise<void> {
  const period = output.isTerminal ? POLL_MS : PLAIN_LINE_MS;
  const look = async (each: () => Promise<void>, everyMs: number): Promise<void> => {
    await pause(everyMs, signal);
    if (signal.aborted) return;
    await each();
    await look(each, everyMs);
  };
  await Promise.all([look(() => view.showProgress(), period), look(() => view.showReasons(), REASONS_MS)]);
}

class EvalView {
  private readonly shown = new Set<string>();
  private readonly settled = new Set<string>();
  private latest: readonly string[] = [];
  /** Reasons that a person has read. */
  readonly told = new Set<string>();

  constructor(
    private readonly handle: EvalHandle,
    private readonly output: Output,
  ) {}

  /** Of each benchmark once, as soon as it is planned. */
  async showSettings(): Promise<void> {
    for (const settings of await this.handle.settings()) {
      if (!this.settled.has(settings.name)) this.output.note(settingsText(settings));
      this.settled.add(settings.name);
    }
  }

  async showProgress(): Promise<void> {
    await this.showSettings();
    const lines = (await this.handle.progress()).map(progressText);
    const text = lines.length > 0 ? lines : [`${this.handle.run}: the data is being read`];
    if (this.output.isTerminal) this.output.status(text.join('  ·  ').slice(0, this.output.columns - 1));
    else for (const line of text) this.output.note(this.withWait(line));
  }

  async showReasons(): Promise<void> {
    this.latest = await this.handle.waitingReasons();
    for (const reason of this.latest) {
      if (!this.shown.has(reason)) this.output.note(`Waiting: ${escapeControls(reason)}`);
      this.shown.add(reason);
      this.told.add(reason);
    }
    if (this.latest.length === 0) this.shown.clear();
  }

  /** A log is read from its end. */
  private withWait(line: string): string {
    return this.latest.length === 0 ? line : `${line} (waiting)`;
  }
}

/** Partial: of what is done so far. */
export function progressText(progress: BenchmarkProgress): string {
  const { name, done, total, score, interval, errorCount, unreadCount = 0 } = progress;
  const so = score === null ? '' : `, so far ${formatNumber(score)}${intervalText(interval)}`;
  const errors = errorCount > 0 ? `, ${errorCount} errors` : '';
  const all = total === 0 ? '' : `/${total}`;
  const unread = unreadCount > 0 ? `, ${unreadText(unreadCount)}` : '';
  return `${escapeControls(name)} ${done}${all}${so}${errors}${unread}`;
}

function unreadText(count: number): string {
  return count === 1 ? '1 verdict could not be read' : `${count} verdicts could not be read`;
}

function intervalText(interval: BenchmarkSummary['interval']): string {
  return interval === null ? '' : ` [${formatNumber(interval[0])}, ${formatNumber(interval[1])}]`;
}

function settingsText(settings: AskingSettings): string {
  const { name, temperature, topP, maxTokens, numSamples, concurrency, taken, sampleCount } = settings;
  const parts = [
    `temperature ${temperature}`,
    ...(topP === 1 ? [] : [`top p ${topP}`]),
    `at most ${maxTokens} tokens`,
    ...(numSamples === 1 ? [] : [`${numSamples} samples of each example`]),
    `${concurrency} requests in flight`,
    ...(taken ? [takenText(taken, sampleCount)] : []),
  ];
  return `${escapeControls(name)}: ${parts.join(', ')}`;
}

function takenText({ folder, taken }: TakenAnswers, sampleCount: number): string {
  return `${taken} answers taken from ${path.basename(folder)}, ${sampleCount - taken} asked for`;
}

function leave({ run }: EvalHandle, { session, output }: FollowOptions): number {
  const cancel = `\`${output.hint(`results cancel ${run}`)}\` calls it off.`;
  output.note(
    session.isEmbedded
      ? `Interrupted; nothing is lost. Give the same command again to go on; ${cancel}`
      : `The evaluation goes on. Give the same command again to follow it; ${cancel}`,
  );
  return EXIT.interrupted;
}

/** What a person looks at next: answers that were wrong, else what failed, else any. */
function printNext({ run, dir, benchmarks }: EvalReport, { session, output }: FollowOptions): void {
  const [first, ...others] = benchmarks.map((summary) => ({ summary, flag: flagFor(summary) }));
  if (!first || output.isJson) return;
  const { summary, flag } = [first, ...others].find((each) => each.flag === ' --incorrect') ?? first;
  const { store } = session.everstep;
  const place = !store.includes('://') && path.join(store, 'evals', run) === dir ? run : dir;
  // The run may hold benchmarks of earlier commands beside these.
  output.note(
    `Next: ${output.hint(`results trajectories ${shellWord(place)} ${shellWord(summary.name)}${flag}`)}`,
  );
}

function flagFor(summary: BenchmarkSummary): string {
  const { numExamples, numCorrect, numErrors, numTruncated, numUnparsed = 0 } = summary;
  if (numCorrect + numErrors + numTruncated + numUnparsed < numExamples) return ' --incorrect';
  if (numErrors > 0) return ' --errors';
  if (numUnparsed > 0) return ' --unparsed';
  return numTruncated > 0 ? ' --truncated' : '';
}

interface ReportOptions {
  readonly output: Output;
  /** What was said while it was waited for. */
  readonly told: ReadonlySet<string>;
}

function printReport(
  { run, dir, benchmarks, failures }: EvalReport,
  { output, told }: ReportOptions,
): number {
  output.document({ run, dir, benchmarks });
  if (benchmarks.length > 0) printTable(output, HEADING, benchmarks.map(rowOf));
  for (const remark of benchmarks.flatMap(remarksOn)) output.note(escapeControls(remark));
  for (const failure of failures) output.note(escapeControls(failureText(failure, told)));
  const [first] = failures;
  return first ? exitCodeOfFailure(first) : EXIT.done;
}

/** What a number alone does not say. */
function remarksOn(summary: BenchmarkSummary): string[] {
  const { name, numErrors, numUnparsed = 0, unjudged, overBudget } = summary;
  return [
    ...(numErrors > 0
      ? [`${name}: ${numErrors} errors. Give the same command again to try them again.`]
      : []),
    ...(numUnparsed > 0 ? [`${name}: ${unreadText(numUnparsed)}; ${othersText(summary)}.`] : []),
    ...(unjudged === undefined ? [] : [`${name}: ${unjudged}.`]),
    ...(overBudget === undefined ? [] : [`${name} is done, but ${asSentence(overBudget)}`]),
  ];
}

/** Samples of a question weigh as much together as those of any other, however many could be read. */
function othersText({ numExamples, numUnparsed = 0 }: BenchmarkSummary): string {
  return `the score is of the other ${numExamples - numUnparsed} samples: the mean over questions of the mean of theirs`;
}

function failureText(
  { name, code, message, isCancelled }: BenchmarkFailure,
  told: ReadonlySet<string>,
): string {
  if (code === 'over-budget') {
    return `${name} is paused: ${asSentence(message)} What is answered is stored: the same command with a higher --budget goes on from there.`;
  }
  if (isCancelled) return `${name} was ${asSentence(message)}`;
  return told.has(message)
    ? `${name} failed, with what it waited for above.`
    : `${name} failed: ${asSentence(message)}`;
}

/** A key that an endpoint or a service does not take is the person's to correct. */
function exitCodeOfFailure(failure: BenchmarkFailure): number {
  return failure.code === 'unauthorized' ? EXIT.usage : exitCodeOf(refusalOf(failure));
}

const HEADING = ['benchmark', 'score', '95 %', 'completed', 'n', 'correct', 'errors', 'truncated', 'seconds'];

function rowOf(summary: BenchmarkSummary): string[] {
  const { passAtK, scoreCompleted } = summary;
  const pass = Object.entries(passAtK).filter(([k]) => k !== '1');
  const score = [formatNumber(summary.score), ...pass.map(([k, rate]) => `pass@${k} ${formatNumber(rate)}`)];
  return [
    summary.name,
    score.join(', '),
    intervalText(summary.interval).trim(),
    scoreCompleted === null ? '–' : formatNumber(scoreCompleted),
    String(summary.numExamples),
    correctText(summary),
    String(summary.numErrors),
    String(summary.numTruncated),
    summary.timeSeconds.toFixed(1),
  ];
}

/** Scores between 0 and 1 make nothing right or wrong: what is above 0 is then counted in the file and not shown. */
function correctText({ score, numCorrect, numExamples, numUnparsed = 0, passAtK }: BenchmarkSummary): string {
  // Of several samples the share of right answers is a mean over questions, as the score is.
  const share = passAtK['1'] ?? numCorrect / (numExamples - numUnparsed);
  return Math.abs(score - share) < 1e-6 ? String(numCorrect) : '–';
}
