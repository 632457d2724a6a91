import type { ReportedCell } from '../client/partial-scores';
import { unfinishedCells } from '../client/partial-scores';
import type { ScoreRow } from '../core/run';
import { escapeControls } from './escape-controls';
import { formatNumber } from './number-format';
import type { Output } from './output';
import { outcomeLine, scoreText } from './score-text';
import { printTable } from './tables';

/** Every score on a row. */
export function printScores(output: Output, scores: readonly ScoreRow[]): void {
  const days = new Set(scores.map(({ at }) => at.slice(0, 10)));
  const rows = scores.map((row) => [
    String(row.step),
    row.evaluator,
    row.metric,
    scoreText(row),
    String(row.n),
    row.schedule,
    clockText(row.at, days.size === 1),
  ]);
  printTable(output, ['step', 'evaluator', 'metric', 'value (95 %)', 'n', 'schedule', 'at (UTC)'], rows);
  printErrors(output, scores);
}

/** How evaluations under way stand: no scores yet, and said to be none. */
export function printPartialScores(output: Output, cells: readonly ReportedCell[]): void {
  for (const { step, evaluator, status, heardAt, partial } of unfinishedCells(cells)) {
    const stands = STANDINGS[status] ?? status;
    output.line(
      `${stands}: step ${step}, ${escapeControls(evaluator)}${partialText(partial)}${heardText(heardAt)}`,
    );
  }
}

const STANDINGS: Readonly<Partial<Record<ReportedCell['status'], string>>> = {
  running: 'under way',
  pending: 'waits for its turn',
};

function partialText(partial: ReportedCell['partial']): string {
  if (!partial) return '';
  const { value, interval, done } = partial;
  const answers = `partial: ${done} answers so far`;
  if (value === null) return `, ${answers}`;
  const spread = interval === null ? '' : ` (${interval.map(formatNumber).join('…')})`;
  return ` ${formatNumber(value)}${spread}, ${answers}`;
}

/** Of what is due while the workflow does not answer. */
export function heardText(heardAt: string | null | undefined): string {
  return heardAt ? `, nothing heard since ${heardAt}` : '';
}

/** First against last score of every metric: what training did. */
export function printScoreSummary(output: Output, scores: readonly ScoreRow[]): void {
  const groups = new Map<string, ScoreRow[]>();
  const lastSteps = new Map<string, number>();
  for (const row of scores) {
    if (row.error === undefined) lastSteps.set(row.evaluator, row.step);
    const name = `${row.evaluator}\u0000${row.metric}`;
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const rows = [...groups.values()].map((group) => {
    const [base] = group;
    const final = group.at(-1);
    if (!base || !final) return [];
    // What the last evaluation does not tell (a reason that no rollout ended for) has no final value.
    const isOld = final.error === undefined && final.step !== lastSteps.get(base.evaluator);
    return [
      base.evaluator,
      base.metric,
      scoreText(base),
      isOld ? '–' : scoreText(final),
      isOld ? '' : String(final.n),
      atSteps(base, final),
    ];
  });
  if (rows.length === 0) return;
  printTable(output, ['evaluator', 'metric', 'base (95 %)', 'final (95 %)', 'n', 'steps'], rows);
  printErrors(output, scores);
}

/** Each error once, with the steps it was met at. */
function printErrors(output: Output, scores: readonly ScoreRow[]): void {
  const steps = new Map<string, number[]>();
  for (const row of scores.filter(({ error }) => error !== undefined)) {
    const text = `${escapeControls(row.evaluator)} ${output.advice(outcomeLine(row))}`;
    const seen = steps.get(text) ?? [];
    steps.set(text, seen.includes(row.step) ? seen : [...seen, row.step]);
  }
  for (const [text, at] of steps) {
    output.line(output.colors.red(`${at.length === 1 ? 'step' : 'steps'} ${at.join(', ')}: ${text}`));
  }
}

/** To the second within a day, else to the minute; `--json` has all of it. */
function clockText(at: string, isOneDay: boolean): string {
  return isOneDay ? at.slice(11, 19) : at.slice(5, 16).replace('T', ' ');
}

function atSteps(base: ScoreRow, final: ScoreRow): string {
  return base.step === final.step ? String(base.step) : `${base.step} → ${final.step}`;
}
