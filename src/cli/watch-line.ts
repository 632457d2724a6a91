import { stripVTControlCharacters } from 'node:util';
import type { RunReport } from '../client/run-report';
import type { MetricsRow, ScoreRow } from '../core/run';
import { escapeControls } from './escape-controls';
import { headlineOf } from './headline-metric';
import type { Output } from './output';
import { formatNumber } from './number-format';
import { scoreText } from './score-text';
import { sparkline } from './sparkline';

export interface ProgressFacts {
  readonly report: RunReport;
  readonly rate: number | null;
  readonly metrics: MetricsRow | null;
  readonly score: ScoreRow | null;
  /** Of the newest steps, the newest last. */
  readonly losses?: readonly number[];
}

const BAR_WIDTH = 24;
const SPARK_WIDTH = 20;

/** One line that fits the terminal; what does not fit is left out from the right. */
export function progressLine(facts: ProgressFacts, output: Output): string {
  const { step, totalSteps, run } = facts.report;
  const parts = [
    escapeControls(run),
    bar(totalSteps > 0 ? step / totalSteps : 0, output),
    `${step}/${totalSteps || '?'}`,
    state(facts.report),
    ...speed(facts),
    ...numbers(facts),
  ];

  let line = '';
  for (const part of parts.filter((text) => text !== '')) {
    const longer = line === '' ? part : `${line}  ${part}`;
    if (stripVTControlCharacters(longer).length >= output.columns) break;
    line = longer;
  }
  return line;
}

/** The same for a line that is printed once; empty where it is not known or the run has ended. */
export function speedText(facts: ProgressFacts): string {
  if (facts.report.closedAt !== null) return '';
  return speed(facts)
    .map((part) => `, ${part}`)
    .join('');
}

function speed({ report, rate }: ProgressFacts): string[] {
  if (rate === null || report.status === 'paused') return [];
  const left = duration((report.totalSteps - report.step) / rate);
  return [`${formatNumber(Number(rate.toPrecision(3)))} steps/s`, `${left} left`];
}

function numbers({ metrics, score, losses = [] }: ProgressFacts): string[] {
  const headline = headlineOf(metrics);
  return [
    headline
      ? `${headline.label} ${formatNumber(headline.value)} ${sparkline(losses, SPARK_WIDTH)}`.trimEnd()
      : '',
    typeof score?.value === 'number'
      ? `${escapeControls(score.evaluator)} ${escapeControls(score.metric)} ${scoreText(score)}`
      : '',
  ];
}

/** Its data is being read and its model opened: it has no steps yet. */
export function isPreparing({ status, waitingFor, totalSteps }: RunReport): boolean {
  return status === 'running' && waitingFor === null && totalSteps === 0;
}

/** What people are told of a pause; null where nobody asked for one, or nobody knows of it. */
export function pauseText({ pause, status, step }: RunReport): string | null {
  if (pause === null) return null;
  const because = pause.reason === '' ? '' : ` (${escapeControls(pause.reason)})`;
  const who = `by ${escapeControls(pause.by)}${because}`;
  if (status !== 'paused') return `step ${step}: pauses after step ${pause.step}, asked for ${who}`;
  const end = pause.until === null ? '' : ` until ${pause.until.slice(0, 19)}Z, then ${pause.then}`;
  return `step ${step}: paused${end} ${who}`;
}

/** Why a run with nothing left to train still runs; null where it trains, or has ended. */
export function finishingText({
  status,
  step,
  totalSteps,
  stopAt,
  pendingEvaluations,
  source,
}: RunReport): string | null {
  const isTrained = totalSteps > 0 && step >= (stopAt ?? totalSteps);
  // Who does not hear the workflow does not know.
  if (status !== 'running' || !isTrained || source !== 'workflow') return null;
  const evaluations = evaluationsText(pendingEvaluations);
  return `all steps are trained; ${evaluations === '' ? 'it is being closed' : `waits for ${evaluations}`}`;
}

function state(report: RunReport): string {
  const { status, waitingFor, source } = report;
  if (isPreparing(report)) return 'preparing…';
  if (waitingFor && status !== 'paused') return `waiting for ${escapeControls(waitingFor.what)}`;
  if (status !== 'running') return status;
  return source === 'workflow' ? work(report) : '';
}

function work({ pendingEvaluations, step, totalSteps }: RunReport): string {
  const evaluations = evaluationsText(pendingEvaluations);
  if (totalSteps > 0 && step === totalSteps) return `finishing ${evaluations}`.trimEnd();
  return evaluations === '' ? '' : `${evaluations} under way`;
}

/** Empty where there are none, or nobody says. */
function evaluationsText(pending: number | null): string {
  if (pending === null || pending === 0) return '';
  return pending === 1 ? '1 evaluation' : `${pending} evaluations`;
}

function bar(done: number, { colors }: Output): string {
  const filled = Math.round(Math.min(1, done) * BAR_WIDTH);
  return `${colors.cyan('━'.repeat(filled))}${colors.dim('─'.repeat(BAR_WIDTH - filled))}`;
}

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (hours > 0) return `${hours}h${String(minutes).padStart(2, '0')}m`;
  return minutes > 0 ? `${minutes}m${String(rest).padStart(2, '0')}s` : `${rest}s`;
}
