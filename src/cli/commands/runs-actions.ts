import path from 'node:path';
import { unfinishedCells } from '../../client/partial-scores';
import type { RunHandle } from '../../client/run-handle';
import type { RunReport, ToldBudget } from '../../client/run-report';
import { isClosed } from '../../client/run-report';
import { silenceText } from '../../client/silent-evaluators';
import { shellWord } from '../../core/shell-word';
import { neighboursOf } from '../../stack/find-weights';
import { findStack } from '../../stack/stack-record';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import type { Output } from '../output';
import { formatNumber } from '../number-format';
import { printPair } from '../printed-pair';
import { printPartialScores, printScores } from '../score-tables';
import { silenceRemedy } from '../silent-evaluators';
import { timeText } from '../time-text';
import { watchRun } from '../watch';
import { finishingText, pauseText } from '../watch-line';
import { runDocument, scoresDocument, statusDocument } from './runs-documents';
import { exitCodeOfRun, printEnd } from './train-follow';

export async function showRun(handle: RunHandle, session: Session, output: Output): Promise<number> {
  const report = await handle.status();
  const [record, checkpoints, folder, best, damaged] = await Promise.all([
    handle.config(),
    handle.checkpoints(),
    handle.folder(),
    handle.best(),
    handle.damage(),
  ]);
  output.document(runDocument({ report, record, checkpoints, folder, best, damaged }));
  const pairs = [
    ...describe(report),
    pair('checkpoints', String(checkpoints.length)),
    ...(best ? [pair('best', `step ${best.step}, by ${best.by}`)] : []),
    pair('folder', folder ?? noFolder(report)),
    ...damaged.map((text) => pair('damaged', text)),
  ];
  for (const [name, value] of pairs) printFact(output, name, output.advice(value));
  if (report.note !== null) output.note(report.note);
  const remedy = silenceRemedy(report, output);
  if (remedy !== null) output.note(remedy);
  const other = report.source === 'store' && !isClosed(report) ? stackBeside(session) : null;
  if (other !== null) {
    output.note(
      `A stack runs in ${other} too, on the same store: npx everstep runs show ${report.run} --data-dir ${shellWord(other)}`,
    );
  }
  return EXIT.done;
}

/** A reason of several lines keeps them, each behind the name: none can pass for another fact. */
function printFact(output: Output, name: string, text: string): void {
  for (const [index, line] of text.split('\n').entries())
    printPair(output, { name: index === 0 ? name : '', text: escapeControls(line), width: 16 });
}

/** That of the demo, or the one the demo is of; null where none runs. */
function stackBeside({ environment: { dataFolder, store } }: Session): string | null {
  const [, ...others] = neighboursOf(path.resolve(dataFolder));
  return others.find((folder) => findStack(folder)?.store === store) ?? null;
}

function noFolder(report: RunReport): string {
  if (report.step > 0) return 'none: it was moved or deleted. Put it back';
  return isClosed(report) ? 'none: it ended before it was prepared' : 'none yet: it is being prepared';
}

function describe(report: RunReport): [name: string, value: string][] {
  const {
    waitingFor,
    waits = [],
    silentEvaluators = [],
    finalWeightsDigest,
    rewinds,
    stepsReplayed,
  } = report;
  return [
    ['run', report.run],
    ['status', statusText(report)],
    ...(waitingFor ? [pair('waiting for', `${waitingFor.what}, since ${waitingFor.since}`)] : []),
    ...waits.map((wait) => pair('waiting', wait)),
    ...silentEvaluators.map((silent) => pair('may hang', silenceText(silent))),
    ...pauseLine(report),
    ...budgetLines(report),
    ['step', `${report.step} of ${report.totalSteps || '?'}${stopNote(report)}`],
    ['kind', report.kind],
    ['model', report.model],
    ['engine', report.engine],
    ['started (UTC)', timeText(report.startedAt)],
    ...(report.closedAt === null ? [] : [pair('closed (UTC)', timeText(report.closedAt))]),
    ...(rewinds > 0 ? [pair('rewinds', `${rewinds}, ${stepsReplayed} steps trained again`)] : []),
    ...(report.remarks ?? []).map((remark) => pair('remark', remark)),
    ...(finalWeightsDigest === null ? [] : [pair('final weights', finalWeightsDigest)]),
  ];
}

function statusText(report: RunReport): string {
  const why = report.reason ?? finishingText(report);
  return why === null ? report.status : `${report.status}: ${why}`;
}

function budgetLines({ budget }: RunReport): [string, string][] {
  if (!budget) return [];
  const { limits, spent, warnings } = budget;
  const share = (used: number | null | undefined, limit: number | null, unit: string) => {
    if (limit === null) return [];
    return [
      spent
        ? `${formatNumber(used ?? 0)} of ${formatNumber(limit)} ${unit}`
        : `${formatNumber(limit)} ${unit}`,
    ];
  };
  const parts = [
    ...share(spent?.tokens, limits.tokens, 'tokens'),
    ...share(spent?.seconds, limits.seconds, 'seconds'),
    ...share(
      spent?.dollars,
      limits.dollars,
      limits.dollarsPerMillionTokens === 0 ? 'dollars (free here)' : 'dollars',
    ),
    ...(spent === null ? [] : spendingParts(spent, limits)),
  ];
  const unknown = spent === null ? '; what is used is told when a worker answers' : '';
  const near = warnings.length > 0 ? [pair('warning', `nearly used up: ${warnings.join('; ')}`)] : [];
  return [pair('budget', `${parts.join(', ')}${unknown}`), ...near];
}

function spendingParts(
  { dollars, tokensReserved, tokensOfRewinds }: NonNullable<ToldBudget['spent']>,
  limits: ToldBudget['limits'],
): string[] {
  return [
    ...(dollars && limits.dollars === null ? [`${formatNumber(dollars)} dollars so far`] : []),
    `${formatNumber(tokensReserved)} tokens under way`,
    ...(tokensOfRewinds > 0 ? [`${formatNumber(tokensOfRewinds)} tokens trained again`] : []),
  ];
}

function pauseLine(report: RunReport): [string, string][] {
  const text = pauseText(report);
  return text === null ? [] : [pair('pause', text)];
}

function stopNote({ stopAt }: RunReport): string {
  return stopAt === null ? '' : `, stops after ${stopAt}`;
}

function pair(name: string, value: string): [string, string] {
  return [name, value];
}

export async function showScores(handle: RunHandle, output: Output): Promise<number> {
  const report = await handle.status();
  const [scores, cells, damaged] = await Promise.all([
    handle.scores(),
    handle.evaluations(),
    handle.damage(),
  ]);
  const partial = cells.flatMap(({ step, evaluator, schedules, partial: soFar }) =>
    soFar ? [{ step, evaluator, schedules, ...soFar }] : [],
  );
  output.document({
    ...scoresDocument(report, scores),
    ...{ partial, unfinished: unfinishedCells(cells) },
    ...(damaged.length > 0 && { damaged }),
  });
  output.line(`${handle.name}: ${report.status}, step ${report.step} of ${report.totalSteps}`);
  if (scores.length === 0) output.line('No scores yet.');
  else printScores(output, scores);
  printPartialScores(output, cells);
  for (const text of damaged) output.note(escapeControls(text));
  return EXIT.done;
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
