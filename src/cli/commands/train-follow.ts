import { anySignal } from '../../core/concurrency/any-signal';
import type { RunHandle } from '../../client/run-handle';
import { pause } from '../../client/pause';
import type { RunReport } from '../../client/run-report';
import { isClosed } from '../../client/run-report';
import type { StartedRun } from '../../client/start-run';
import type { ScoreRow } from '../../core/run';
import type { RunRecord } from '../../training/run-folder';
import type { Session } from '../connect';
import { summaryText } from '../../core/data-summary';
import { asSentence } from '../../core/sentences';
import { escapeControls } from '../escape-controls';
import { EXIT, refusalOf } from '../exit-codes';
import type { Output } from '../output';
import { printScoreSummary } from '../score-tables';
import { watchRun } from '../watch';
import { isPreparing } from '../watch-line';
import { statusDocument } from './runs-documents';

export interface FollowOptions {
  readonly session: Session;
  readonly output: Output;
  /** Ctrl-C: stop following. */
  readonly signal: AbortSignal;
}

const PREPARATION_POLL_MS = 100;
/** Models and datasets may have to be fetched first. */
const LONGEST_PREPARATION_MS = 15_000;
/** Workers that are just starting take less. */
const NOBODY_THERE_MS = 3000;
const HAND_OVER_LIMIT_MS = 30_000;
const NOTHING_LOST = 'nothing is lost.';
const NOT_SAVED = 'its state could not be saved in time: steps since its last checkpoint are trained again.';

/** Shows the run until it has ended or the person has seen enough, and says how it ended. */
export async function followRun(handle: RunHandle, options: FollowOptions): Promise<number> {
  const { output, signal } = options;
  let isTold = false;
  const told = new Set<string>();
  const onReport = async (seen: RunReport) => {
    if (isPreparing(seen)) return;
    const isFirst = !isTold;
    isTold = true;
    if (isFirst) await tellData(handle, output);
    // What was seen while the run ends is told below its end.
    if (!isClosed(seen)) tellRemarks(seen, told, output);
  };
  const report = await watchRun(handle, { output, signal, onReport });
  if (report.refusal) throw refusalOf(report.refusal);
  const scores = await handle.scores();
  output.document(statusDocument(report, scores));
  if (!isClosed(report)) return leave(report, handle, options);
  const remarks = (report.remarks ?? []).filter((remark) => !told.has(remark));
  printEnd({ ...report, remarks }, scores, output);
  return exitCodeOfRun(report);
}

/** Leaves a run once it is prepared, because then it is known whether what was asked for can be done; or when that takes long. */
export async function leaveDetached(
  started: StartedRun,
  { output, signal }: Pick<FollowOptions, 'output' | 'signal'>,
): Promise<number> {
  const report = await prepared(started.handle, signal);
  if (report.refusal) throw refusalOf(report.refusal);
  await tellData(started.handle, output);
  if (report.status !== 'failed') {
    tellRemarks(report, new Set(), output);
    return printDetached(started, output);
  }
  output.document(statusDocument(report, []));
  printEnd(report, [], output);
  return exitCodeOfRun(report);
}

/** Remarks that are not `told` yet, such as examples of an evaluator that stand in the training data too. */
function tellRemarks({ remarks = [] }: RunReport, told: Set<string>, output: Output): void {
  for (const remark of remarks) {
    if (!told.has(remark)) output.note(escapeControls(remark));
    told.add(remark);
  }
}

async function tellData(handle: RunHandle, output: Output): Promise<void> {
  const data = await handle.preparedData();
  if (data) output.note(`Data: ${data.summary ? summaryText(data.summary) : problemsText(data)}.`);
}

function problemsText({ source, trainCount, testCount }: RunRecord['data']): string {
  const heldOut = testCount === 0 ? '' : `, ${testCount.toLocaleString('en-US')} held out`;
  return `${trainCount.toLocaleString('en-US')} problems of ${source}${heldOut}`;
}

async function prepared(handle: RunHandle, signal: AbortSignal): Promise<RunReport> {
  const began = performance.now();
  for (;;) {
    const report = await handle.status();
    const waitedMs = performance.now() - began;
    const isLate = waitedMs > LONGEST_PREPARATION_MS || (report.note !== null && waitedMs > NOBODY_THERE_MS);
    if (!isPreparing(report) || isLate || signal.aborted) return report;
    await pause(PREPARATION_POLL_MS, signal);
  }
}

function printDetached({ handle, isAttached }: StartedRun, output: Output): number {
  output.document({ run: handle.name, workflowId: handle.workflowId, attached: isAttached });
  output.line(handle.name);
  return EXIT.done;
}

async function leave(
  report: RunReport,
  handle: RunHandle,
  { session, output }: FollowOptions,
): Promise<number> {
  const { run } = report;
  if (session.isEmbedded) {
    const left = isPreparing(report) ? report : await handOver(handle, output);
    const goOn = `Go on with: ${output.hint(`train --run ${run}`)}`;
    output.note(`Interrupted ${whereOf(left ?? report)}; ${left ? NOTHING_LOST : NOT_SAVED} ${goOn}`);
  } else {
    output.note(`Run ${run} goes on, ${whereOf(report)}. Watch it with: ${output.hint(`runs watch ${run}`)}`);
  }
  return EXIT.interrupted;
}

function whereOf({ step, totalSteps }: RunReport): string {
  return `at step ${step} of ${totalSteps || '?'}`;
}

/** The run's training service goes with this command: the state is saved first. Null where that takes too long. */
async function handOver(handle: RunHandle, output: Output): Promise<RunReport | null> {
  output.note(`Saving where the run stands, for up to ${HAND_OVER_LIMIT_MS / 1000} s…`);
  const limit = AbortSignal.timeout(HAND_OVER_LIMIT_MS);
  // Refused where the last step is under way: the run ends.
  const asked = handle.handOver({ reason: 'the command that trains it was interrupted' }).catch(() => null);
  // Whoever comes second is not waited for: a timer of it would keep the command for all of the limit.
  const over = new AbortController();
  await Promise.race([asked, pause(HAND_OVER_LIMIT_MS, anySignal([limit, over.signal]))]);
  over.abort();
  while (!limit.aborted) {
    const report = await handle.status();
    if (report.isLetGo === true || isClosed(report)) return report;
    await pause(PREPARATION_POLL_MS, limit);
  }
  return null;
}

export function printEnd(report: RunReport, scores: readonly ScoreRow[], output: Output): void {
  const { run, status, step, totalSteps, reason, rewinds, stepsReplayed } = report;
  printScoreSummary(output, scores);
  const because = reason === undefined ? '' : `: ${escapeControls(reason)}`;
  const replayed = rewinds > 0 ? ` Rewinds: ${rewinds}, steps trained again: ${stepsReplayed}.` : '';
  const text = `${asSentence(`Run ${run} ${status} at step ${step} of ${totalSteps}${because}`)}${replayed}`;
  output.line(status === 'completed' ? output.colors.green(text) : output.colors.yellow(text));
  tellRemarks(report, new Set(), output);
}

/** Stopping early on request is a run that did what it was told. */
export function exitCodeOfRun({ status }: RunReport): number {
  return status === 'completed' || status === 'stopped' ? EXIT.done : EXIT.failed;
}
