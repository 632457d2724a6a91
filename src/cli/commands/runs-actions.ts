import type { RunFilter } from '../../client/list-runs';
import type { RunHandle } from '../../client/run-handle';
import type { RunReport } from '../../client/run-report';
import { isClosed } from '../../client/run-report';
import { DomainError } from '../../core/errors';
import type { MetricsRow } from '../../core/run';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import type { Output } from '../output';
import { formatNumber } from '../number-format';
import { printScores } from '../score-tables';
import { printTable } from '../tables';
import { watchRun } from '../watch';
import { runDocument, scoresDocument, statusDocument, withScores } from './runs-documents';
import { exitCodeOfRun, printEnd } from './train-follow';

export interface MetricsFlags {
  readonly from?: number;
  readonly to?: number;
  readonly last?: number;
  readonly withScores?: boolean;
}

export async function listRuns(
  { everstep, hasServer }: Session,
  output: Output,
  filter: RunFilter,
): Promise<number> {
  const runs = await everstep.runs.list(filter);
  output.document({ runs });
  if (!hasServer && runs.some((run) => !isClosed(run)))
    output.note('No Temporal server is running: open runs are shown as the store last saw them.');
  if (runs.length === 0) {
    output.line(`No runs. Start one with: ${output.hint('train CONFIG')}`);
    return EXIT.done;
  }
  const rows = runs.map((run) => [
    run.run,
    run.kind,
    run.model,
    run.status,
    `${run.step}/${run.totalSteps || '?'}`,
    run.startedAt,
    run.closedAt ?? '',
  ]);
  printTable(output, ['run', 'kind', 'model', 'status', 'step', 'started', 'closed'], rows);
  return EXIT.done;
}

export async function showRun(handle: RunHandle, output: Output): Promise<number> {
  const report = await handle.status();
  const [record, checkpoints, folder] = await Promise.all([
    handle.config(),
    handle.checkpoints(),
    handle.folder(),
  ]);
  output.document(runDocument({ report, record, checkpoints, folder }));
  for (const [name, value] of describe(report)) output.line(`${name.padEnd(16)}${escapeControls(value)}`);
  output.line(`${'checkpoints'.padEnd(16)}${checkpoints.length}`);
  output.line(`${'folder'.padEnd(16)}${escapeControls(folder ?? noFolder(report))}`);
  if (report.note !== null) output.note(report.note);
  return EXIT.done;
}

function noFolder(report: RunReport): string {
  return isClosed(report) ? 'none: it ended before it was prepared' : 'none yet: it is being prepared';
}

function describe(report: RunReport): [name: string, value: string][] {
  const { waitingFor, reason, finalWeightsDigest, rewinds, stepsReplayed } = report;
  return [
    ['run', report.run],
    ['status', reason === undefined ? report.status : `${report.status}: ${reason}`],
    ...(waitingFor ? [pair('waiting for', `${waitingFor.what}, since ${waitingFor.since}`)] : []),
    ['step', `${report.step} of ${report.totalSteps || '?'}${stopNote(report)}`],
    ['kind', report.kind],
    ['model', report.model],
    ['engine', report.engine],
    ['started', report.startedAt],
    ...(report.closedAt === null ? [] : [pair('closed', report.closedAt)]),
    ...(rewinds > 0 ? [pair('rewinds', `${rewinds}, ${stepsReplayed} steps trained again`)] : []),
    ...(report.remarks ?? []).map((remark) => pair('remark', remark)),
    ...(finalWeightsDigest === null ? [] : [pair('final weights', finalWeightsDigest)]),
  ];
}

function stopNote({ stopAt }: RunReport): string {
  return stopAt === null ? '' : `, stops after ${stopAt}`;
}

function pair(name: string, value: string): [string, string] {
  return [name, value];
}

export async function showScores(handle: RunHandle, output: Output): Promise<number> {
  const report = await handle.status();
  const scores = await handle.scores();
  output.document(scoresDocument(report, scores));
  output.line(`${handle.name}: ${report.status}, step ${report.step} of ${report.totalSteps}`);
  if (scores.length === 0) output.line('No scores yet.');
  else printScores(output, scores);
  return EXIT.done;
}

export async function showMetrics(handle: RunHandle, output: Output, flags: MetricsFlags): Promise<number> {
  const { from, to, last } = flags;
  if (from !== undefined && to !== undefined && from > to) {
    throw new DomainError('bad-config', `--from ${from} is after --to ${to}. Give the first step first.`);
  }
  await handle.status();
  const isWanted = ({ step }: { readonly step: number }) => step >= (from ?? 0) && step <= (to ?? Infinity);
  const stored = await handle.metrics({
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  });
  const all = flags.withScores ? withScores(stored, (await handle.scores()).filter(isWanted)) : [...stored];
  const rows = last === undefined ? all : all.slice(Math.max(0, all.length - last));
  output.document({ run: handle.name, metrics: rows });
  printMetrics(rows, output);
  return EXIT.done;
}

function printMetrics(rows: readonly MetricsRow[], output: Output): void {
  if (rows.length === 0) {
    output.line('No steps yet.');
    return;
  }
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'step');
  const cell = (value: number | null | undefined) => (typeof value === 'number' ? formatNumber(value) : '');
  const cells = rows.map((row) => [String(row.step), ...names.map((name) => cell(row[name]))]);
  printTable(output, ['step', ...names], cells);
}

export async function watchOneRun(
  handle: RunHandle,
  { hasServer }: Pick<Session, 'hasServer'>,
  output: Output,
): Promise<number> {
  const first = await handle.status();
  if (!hasServer && !isClosed(first)) return nobodyWorks(first, output);
  const interrupts = catchInterrupts(output, 'Leaving; the run goes on.');
  try {
    const report = await watchRun(handle, { output, signal: interrupts.signal });
    const scores = await handle.scores();
    output.document(statusDocument(report, scores));
    if (!isClosed(report)) return EXIT.interrupted;
    printEnd(report, scores, output);
    return exitCodeOfRun(report);
  } finally {
    interrupts.dispose();
  }
}

/** Without a server nothing would ever change. */
function nobodyWorks(report: RunReport, output: Output): number {
  output.document(statusDocument(report, []));
  output.line(`${report.run}: step ${report.step} of ${report.totalSteps}`);
  if (report.note !== null) output.note(report.note);
  return EXIT.failed;
}
