import { stripVTControlCharacters } from 'node:util';
import type { RunReport } from '../client/run-report';
import type { ScoreRow } from '../core/run';
import { escapeControls } from './escape-controls';
import { formatNumber } from './number-format';
import type { Output } from './output';
import { scoreText } from './score-text';
import type { ProgressFacts } from './watch-line';
import { duration, pauseText, progressLine } from './watch-line';

export interface BlockFacts extends ProgressFacts {
  /** Of every evaluator and metric the newest. */
  readonly newest: readonly ScoreRow[];
  readonly now: Date;
}

const MOST_SCORES = 4;

/** What stands at the bottom of a terminal: progress, and below it what a person would ask next. */
export function progressBlock(facts: BlockFacts, output: Output): string {
  const { report, newest } = facts;
  const below = [
    ...newest.slice(-MOST_SCORES).map(scoreLine),
    ...waitLine(facts),
    ...pauseLine(report),
    ...budgetLine(report),
  ];
  return [progressLine(facts, output), ...below.map((text) => fitted(`  ${text}`, output))].join('\n');
}

/** Each kind of score in the order in which it was last measured. */
export function newestScores(scores: readonly ScoreRow[]): ScoreRow[] {
  const newest = new Map<string, ScoreRow>();
  for (const row of scores) {
    const identity = JSON.stringify([row.evaluator, row.metric]);
    const known = newest.get(identity);
    if (known && known.step > row.step) continue;
    newest.delete(identity);
    newest.set(identity, row);
  }
  return [...newest.values()];
}

function scoreLine(row: ScoreRow): string {
  const what = `${escapeControls(row.evaluator)} ${escapeControls(row.metric)}`;
  return `${what} ${scoreText(row)} at step ${row.step}`;
}

function waitLine({ report: { waitingFor, waits = [] }, now }: BlockFacts): string[] {
  if (!waitingFor) return waits.map(escapeControls);
  const seconds = (now.getTime() - Date.parse(waitingFor.since)) / 1000;
  const since = Number.isFinite(seconds) ? `, for ${duration(seconds)}` : '';
  return [`waiting for ${escapeControls(waitingFor.what)} since ${timeOf(waitingFor.since)}${since}`];
}

function pauseLine(report: RunReport): string[] {
  const text = pauseText(report);
  return text === null ? [] : [text];
}

/** What is used of each limit. */
export function budgetText({ budget }: Pick<RunReport, 'budget'>): string | null {
  if (!budget) return null;
  const { limits, spent } = budget;
  const parts = [
    shareOf(spent && spent.tokens, limits.tokens, 'tokens'),
    shareOf(spent && spent.seconds, limits.seconds, 'seconds'),
    shareOf(
      spent && (spent.dollars ?? 0),
      limits.dollars,
      `dollars${limits.dollarsPerMillionTokens === 0 ? ', free here' : ''}`,
    ),
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : `budget: ${parts.join(', ')}`;
}

function budgetLine(report: RunReport): string[] {
  const text = budgetText(report);
  return text === null ? [] : [text];
}

function shareOf(used: number | null, limit: number | null, unit: string): string | null {
  if (limit === null) return null;
  if (used === null) return `${formatNumber(limit)} ${unit}`;
  const share = Math.floor((used / limit) * 100);
  return `${formatNumber(used)} of ${formatNumber(limit)} ${unit} (${share} %)`;
}

function timeOf(at: string): string {
  return at.slice(11, 19);
}

/** A line that wraps could not be taken away again. */
function fitted(text: string, { columns }: Output): string {
  return stripVTControlCharacters(text).length < columns
    ? text
    : `${text.slice(0, Math.max(0, columns - 2))}…`;
}
