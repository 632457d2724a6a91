import type { ControlRow } from '../core/controls';
import type { CheckpointRow, ScoreRow, TimingRow } from '../core/run';
import { CELL_OMISSIONS } from '../core/run';
import type { RunEvent, TimelineEntry } from '../core/timeline';
import { endText } from '../core/timeline';
import { changeText, numberText } from './control-text';
import type { RunReport } from './run-report';

export interface TimelineSources {
  readonly report: Pick<
    RunReport,
    'startedAt' | 'closedAt' | 'status' | 'step' | 'totalSteps' | 'reason' | 'model'
  >;
  readonly checkpoints: readonly CheckpointRow[];
  readonly scores: readonly ScoreRow[];
  readonly controls: readonly ControlRow[];
  /** May hold some twice: the store's and the workflow's. */
  readonly events: readonly RunEvent[];
  readonly timing: readonly TimingRow[];
}

/** One history of what the store keeps apart, in the order of time. */
export function mergeTimeline(sources: TimelineSources): TimelineEntry[] {
  const { report, controls } = sources;
  const end = endOf(report);
  const entries: TimelineEntry[] = [
    { at: report.startedAt, kind: 'started', step: 0, text: `${report.totalSteps} steps of ${report.model}` },
    ...uniqueEvents(sources.events).filter((event) => !isSame(event, end)),
    ...checkpointEntries(sources),
    ...evaluationEntries(untoldScores(sources)),
    ...controls.map(controlEntry),
    ...(end === null ? [] : [end]),
  ];
  return entries
    .map((entry, index) => ({ entry, index }))
    .sort((left, right) => left.entry.at.localeCompare(right.entry.at) || left.index - right.index)
    .map(({ entry }) => entry);
}

function isSame(event: TimelineEntry, other: TimelineEntry | null): boolean {
  return event.at === other?.at && event.kind === other.kind && event.text === other.text;
}

function uniqueEvents(events: readonly RunEvent[]): RunEvent[] {
  return [...new Map(events.map((event) => [JSON.stringify(event), event])).values()];
}

/** A save is made right behind its step; that of step 0, and of a pause, when the model was opened or held. */
function checkpointEntries({ checkpoints, timing, events, report }: TimelineSources): TimelineEntry[] {
  const doneAt = new Map(timing.map(({ step, at }) => [step, at]));
  const opened = events.find(({ kind }) => kind === 'opened')?.at ?? report.startedAt;
  // Of several at a step the first.
  const releasedAt = new Map(
    events.toReversed().flatMap(({ kind, step, at }) => (kind === 'released' ? [[step, at] as const] : [])),
  );
  return checkpoints.map(({ name, step, rolling, final }) => {
    const isHeld = name.endsWith('-held');
    const released = isHeld ? releasedAt.get(step) : undefined;
    const at = released ?? doneAt.get(step) ?? opened;
    return { at, kind: 'checkpoint', step, text: `${name}${kindOfSave({ isHeld, rolling, final })}` };
  });
}

function kindOfSave(save: {
  readonly isHeld: boolean;
  readonly rolling: boolean | undefined;
  readonly final: boolean;
}) {
  if (save.isHeld) return ' (for as long as the run is paused)';
  if (save.final) return ' (the last one)';
  return save.rolling ? ' (rolling)' : '';
}

/** One entry a cell: what was asked for by several schedules was measured once. */
function evaluationEntries(scores: readonly ScoreRow[]): TimelineEntry[] {
  const cells = new Map<string, Map<string, ScoreRow>>();
  for (const row of scores) {
    const identity = JSON.stringify([row.step, row.evaluator, row.at]);
    const rows = cells.get(identity) ?? new Map<string, ScoreRow>();
    if (!rows.has(row.metric)) rows.set(row.metric, row);
    cells.set(identity, rows);
  }
  return [...cells.values()].flatMap((byMetric) => {
    const rows = [...byMetric.values()];
    const [first] = rows;
    if (!first) return [];
    const values = rows.map(measuredText);
    return [
      {
        at: first.at,
        kind: 'evaluation',
        step: first.step,
        text: `${first.evaluator}: ${values.join(', ')}`,
      },
    ];
  });
}

function measuredText({ metric, value, error }: ScoreRow): string {
  if (error === undefined) return `${metric} ${value === null ? String(value) : numberText(value)}`;
  return error.startsWith(metric) ? error : `${metric} ${error}`;
}

/** What was left out is noted when that is decided, and once more as a row of scores: one of them is enough. */
function untoldScores({ scores, events }: TimelineSources): ScoreRow[] {
  const told = new Set(events.flatMap(toldOmissions));
  return scores.filter(({ metric, step, evaluator }) => !told.has(omissionKey(metric, step, evaluator)));
}

/** `step 7: one, two skipped: ...` tells of two. */
function toldOmissions({ kind, text }: RunEvent): string[] {
  const [, digits, rest] = (kind === 'evaluation' && /^step (\d+): (.*)$/s.exec(text)) || [];
  if (digits === undefined || rest === undefined) return [];
  return CELL_OMISSIONS.flatMap((metric) => {
    const end = rest.indexOf(` ${metric}:`);
    if (end < 0) return [];
    return rest
      .slice(0, end)
      .split(', ')
      .map((evaluator) => omissionKey(metric, Number(digits), evaluator));
  });
}

function omissionKey(metric: string, step: number, evaluator: string): string {
  return JSON.stringify([metric, step, evaluator]);
}

function controlEntry(row: ControlRow): TimelineEntry {
  const { at, by, reason, step } = row;
  const because = reason === '' ? '' : `: ${reason}`;
  return { at, kind: 'control', step, text: `${changeText(row)}, by ${by}${because}` };
}

/** null where it goes on. It stands among the events too as soon as somebody begins to continue the run. */
function endOf({ status, step, reason, closedAt: at }: TimelineSources['report']): TimelineEntry | null {
  return at === null ? null : { at, kind: 'ended', step, text: endText({ status, reason }) };
}
