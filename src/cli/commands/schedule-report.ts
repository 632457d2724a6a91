import type { ScheduleState } from '../../client/schedule-handle';
import type { ScheduleEntry } from '../../client/schedules';
import { modelLabel } from '../../client/schedules';
import type { CanaryReport, CanaryRequest, CanaryScore, WebhookOutcome } from '../../core/canary';
import { isAlarming } from '../../core/canary';
import { durationText } from '../../core/duration';
import type { StoredPin } from '../../stores/canary-types';
import { escapeControls } from '../escape-controls';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { printTable } from '../tables';

export function printSchedules(schedules: readonly ScheduleEntry[], output: Output): void {
  if (schedules.length === 0) {
    output.line(
      `No schedules. Make one with: ${output.hint('schedule create NAME --every 6h --benchmark B --model M --endpoint URL')}`,
    );
    return;
  }
  const rows = schedules.map(({ name, cadence, benchmarks, model, isPaused, nextAt, latest }) => [
    name,
    isPaused ? `${cadence}, paused` : cadence,
    benchmarks.join(', '),
    model,
    nextAt ?? '–',
    latest?.at ?? '–',
    latest ? verdictsText(latest.scores) : '–',
  ]);
  printTable(output, ['schedule', 'how often', 'benchmarks', 'model', 'next', 'newest', 'verdict'], rows);
}

export function printPlan(state: ScheduleState, pin: StoredPin | null, output: Output): void {
  const { request } = state;
  const lines: readonly (readonly [string, string])[] = [
    ['schedule', state.name],
    ['how often', state.isPaused ? `${state.cadence}, paused: ${state.note ?? ''}` : state.cadence],
    ['benchmarks', request.benchmarks.join(', ')],
    ['model', modelLabel(request)],
    ['pinned', pinText(request, pin)],
    ['band', bandText(request)],
    ['deadline', durationText(request.deadlineSeconds)],
    ['next', state.isFiring ? 'firing now' : (state.nextAt ?? '–')],
    ...leftOut(state.skippedCount, 'while one was under way'),
    ...leftOut(state.missedCount, 'while the server was away'),
  ];
  for (const [name, text] of lines) output.line(`${name.padEnd(12)}${escapeControls(text)}`);
}

function leftOut(count: number, when: string): (readonly [string, string])[] {
  return count > 0 ? [['left out', `${count} ${when}`]] : [];
}

function pinText({ pin: asked }: CanaryRequest, pin: StoredPin | null): string {
  const scores = asked.type === 'scores' ? asked.scores : null;
  if (scores) return textOf(Object.entries(scores));
  if (pin === null) return 'the first firing that scores everything';
  const measured = Object.entries(pin.scores).map(([name, { score }]): [string, number] => [name, score]);
  return `${textOf(measured)} (firing of ${pin.at})`;
}

function textOf(scores: readonly (readonly [string, number])[]): string {
  return scores.map(([name, score]) => `${name} ${formatNumber(score)}`).join(', ');
}

function bandText({ band: { type, level } }: CanaryRequest): string {
  const share = `${formatNumber(level * 100)} %`;
  return type === 'test' ? `${share} of firings of an unchanged model` : `noise floor at ${share}`;
}

/** The firings that have ended. Where there is none yet, whether one is under way. */
export function printFirings(
  firings: readonly CanaryReport[],
  { isFiring }: { readonly isFiring: boolean },
  output: Output,
): void {
  if (firings.length === 0) {
    output.line(isFiring ? noneEnded(output) : 'It has not fired yet.');
    return;
  }
  output.line();
  const rows = firings.flatMap(({ at, scores }) =>
    scores.map((score) => [
      at,
      score.benchmark,
      score.score === null ? '–' : formatNumber(score.score),
      score.interval === null ? '' : `[${score.interval.map(formatNumber).join(', ')}]`,
      String(score.numExamples),
      score.verdict,
      output.advice(score.reason),
    ]),
  );
  printTable(output, ['firing (UTC)', 'benchmark', 'score', '95 %', 'n', 'verdict', ''], rows);
  const [newest] = firings.slice(-1);
  if (newest?.alarm)
    output.line(output.colors.red(`The newest firing alarms: ${verdictsText(newest.scores)}.`));
}

/** A firing under way may still wait for a worker, or for its turn on one. */
function noneEnded(output: Output): string {
  return `No firing has ended yet, and one is under way. How far it is: ${output.hint('results list')}`;
}

/** Alarms that nobody heard of by the webhook, or has not yet. */
export function printUntold(webhooks: readonly WebhookOutcome[], output: Output): void {
  const untold = webhooks.filter(({ told }) => !told);
  const newest = untold.at(-1);
  if (!newest) return;
  const { at, tries, reason } = newest;
  const others = untold.length === 1 ? '' : `, nor of ${untold.length - 1} before it`;
  const times = tries === 1 ? 'one try' : `${tries} tries`;
  const why = reason === null ? '' : `: ${reason}`;
  output.line(
    output.colors.red(
      escapeControls(`The webhook was not told of the alarm of ${at} in ${times}${others}${why}`),
    ),
  );
}

function verdictsText(scores: readonly CanaryScore[]): string {
  const alarming = scores.filter(isAlarming);
  const told = alarming.length > 0 ? alarming : scores;
  return [...new Set(told.map(({ verdict }) => verdict))].join(', ');
}
