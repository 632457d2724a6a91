import type { LearningRateOptions, ScheduleOptions, SettingsOptions } from '../../client/control-requests';
import type { RunHandle } from '../../client/run-handle';
import type { RunReport } from '../../client/run-report';
import { isClosed } from '../../client/run-report';
import { changeText } from '../../client/control-text';
import type { ControlReceipt } from '../../core/controls';
import { DomainError } from '../../core/errors';
import type { ScoreRow } from '../../core/run';
import { openForReading } from '../connect';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { openOutput } from '../output';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { withEndOfWait } from '../silent-evaluators';
import { withReassurance } from '../slow-change';
import { watchRun } from '../watch';
import type { Setting } from './runs-settings';

export interface ChangeFlags extends PlaceFlags {
  readonly json?: boolean;
  readonly reason?: string;
  readonly atStep?: number;
}

export interface PauseFlags extends ChangeFlags {
  /** Seconds. */
  readonly for?: number;
  readonly then?: 'resume' | 'stop';
}

export interface EvaluateFlags extends ChangeFlags {
  readonly evaluator?: readonly string[];
  readonly wait?: boolean;
}

/** What is changed, and what it comes to in words. */
type Change = (handle: RunHandle, output: Output) => Promise<Said>;

interface Said {
  readonly receipts: readonly ControlReceipt[];
  /** What was waited for. */
  readonly scores?: readonly ScoreRow[];
  readonly lines: readonly string[];
}

/** Makes a change to a run that is under way. Refused where it has ended, or nobody works on it. */
export async function changeRun(run: string, flags: ChangeFlags, change: Change): Promise<number> {
  return makeChange(run, flags, { change, isForEnded: false });
}

/** A change that can be made after the end, too. */
export async function changeAnyRun(run: string, flags: ChangeFlags, change: Change): Promise<number> {
  return makeChange(run, flags, { change, isForEnded: true });
}

async function makeChange(
  run: string,
  flags: ChangeFlags,
  { change, isForEnded }: { readonly change: Change; readonly isForEnded: boolean },
): Promise<number> {
  const output = openOutput(flags);
  const session = await openForReading(flags);
  try {
    const handle = session.everstep.run(run);
    const report = await handle.status();
    if (!isForEnded) refuseEnded(report);
    requireServer(report, session, output);
    const { receipts, scores, lines } = await change(handle, output);
    output.document({ run, changes: receipts, ...(scores && { scores }) });
    for (const line of lines) output.line(line);
    return EXIT.done;
  } finally {
    await session.close();
  }
}

function refuseEnded(report: RunReport): void {
  if (!isClosed(report)) return;
  const { run, status, step, totalSteps } = report;
  throw new DomainError(
    'refused',
    `Run "${run}" has ended (${status} at step ${step} of ${totalSteps}): there is nothing to change. A checkpoint of it is measured with: everstep eval --evaluator NAME --checkpoint ${run}@STEP`,
  );
}

function requireServer(report: RunReport, { hasServer }: Session, output: Output): void {
  if (hasServer) return;
  const { run } = report;
  if (isClosed(report)) {
    throw new DomainError(
      'refused',
      `No Temporal server runs here, and a worker has to keep the checkpoint of run "${run}". Start \`${output.hint('dev')}\` in another terminal, then repeat this.`,
    );
  }
  throw new DomainError(
    'refused',
    `Nobody works on run "${run}": no Temporal server runs here. Go on with it in another terminal, \`${output.hint(`train --run ${run}`)}\`, then repeat this.`,
  );
}

export function pauseRun({ reason, atStep, for: seconds, then }: PauseFlags): Change {
  return async (handle, output) => {
    const asked = handle.pause({ ...optional({ reason, atStep, seconds, then }) });
    const receipt = await withEndOfWait(withReassurance(asked, handle, output), handle, output);
    const end = seconds === undefined ? 'until it is resumed' : `for ${seconds} s, then ${then ?? 'resume'}`;
    return said(receipt, `Run ${shown(handle)} pauses after step ${receipt.step}, ${end}.`);
  };
}

export function resumeRun({ reason }: ChangeFlags): Change {
  return async (handle, output) => {
    const receipt = await withReassurance(handle.resume(optional({ reason })), handle, output);
    const withdrawn = receipt.from === 'running' ? '; the pause that was asked for is withdrawn' : '';
    return said(receipt, `Run ${shown(handle)} goes on with step ${receipt.step}${withdrawn}.`);
  };
}

/** One change: where a part of it is refused, nothing is changed. */
export function setOnRun(settings: readonly Setting[], { reason, atStep }: ChangeFlags): Change {
  return async (handle, output) => {
    const stepped = optional({ reason, atStep });
    const [only, ...others] = together(settings);
    // Workers of an earlier version know single changes alone.
    const asked =
      only && others.length === 0
        ? setOne(handle, only, stepped).then((receipt) => [receipt])
        : handle.set({ ...stepped, ...asOptions(together(settings)) });
    const receipts = await withReassurance(asked, handle, output);
    const lines = receipts.map(
      (receipt) =>
        `Run ${shown(handle)}: ${escapeControls(changeText(receipt))} from step ${receipt.step} on.`,
    );
    return { receipts, lines: [...lines, ...(await usedUp(handle, settings))] };
  };
}

/** That a limit just set is below what is used: the run pauses at once. */
async function usedUp(handle: RunHandle, settings: readonly Setting[]): Promise<string[]> {
  if (!settings.some(({ what }) => what === 'budget')) return [];
  const { budget } = await handle.status();
  if (!budget?.spent) return [];
  const { limits, spent } = budget;
  return (['tokens', 'seconds', 'dollars'] as const).flatMap((name) => {
    const [limit, used] = [limits[name], spent[name] ?? 0];
    if (limit === null || used < limit) return [];
    return [
      `Run ${shown(handle)} has used ${formatNumber(used)} of ${formatNumber(limit)} ${name} already: it finishes what is under way and pauses.`,
    ];
  });
}

function asOptions(
  settings: readonly Setting[],
): Pick<SettingsOptions, 'learningRate' | 'schedules' | 'budget'> {
  const budget = settings.find((setting) => setting.what === 'budget');
  const rate = settings.find((setting) => setting.what === 'learningRate');
  const schedules = settings.flatMap((setting) =>
    setting.what === 'schedule' ? [[setting.schedule, setting.options] as const] : [],
  );
  return {
    ...(budget && { budget: budget.options }),
    ...(rate && { learningRate: rate.options }),
    schedules: Object.fromEntries(schedules),
  };
}

/**
 * What belongs together is one change at one step: limits, of which one in dollars is refused without its price, and what is
 * said of one schedule.
 */
function together(settings: readonly Setting[]): Setting[] {
  const joined = new Map<string, Setting>();
  for (const setting of settings) {
    const key = setting.what === 'schedule' ? `schedule ${setting.schedule}` : setting.what;
    const known = joined.get(key);
    joined.set(key, known ? joinedSetting(known, setting) : setting);
  }
  return [...joined.values()];
}

function joinedSetting(one: Setting, other: Setting): Setting {
  if (one.what === 'budget' && other.what === 'budget') {
    refuseTwice('budget', one.options, other.options);
    return { what: 'budget', options: { ...one.options, ...other.options } };
  }
  if (one.what === 'learningRate' && other.what === 'learningRate') {
    return { what: 'learningRate', options: joinedRate(one.options, other.options) };
  }
  if (one.what !== 'schedule' || other.what !== 'schedule') return other;
  refuseTwice(`schedules.${one.schedule}`, rhythmsOf(one.options), rhythmsOf(other.options));
  const both = (key: 'add' | 'remove') => [...(one.options[key] ?? []), ...(other.options[key] ?? [])];
  const options = { ...one.options, ...other.options, add: both('add'), remove: both('remove') };
  return { what: 'schedule', schedule: one.schedule, options };
}

/** Of two rhythms the second would hold; added and removed evaluators are joined. */
function rhythmsOf({ every, at }: Pick<ScheduleOptions, 'every' | 'at'>): object {
  return { ...(every !== undefined && { every }), ...(at !== undefined && { at }) };
}

function refuseTwice(where: string, one: object, other: object): void {
  const key = Object.keys(other).find((name) => Object.hasOwn(one, name));
  if (key === undefined) return;
  throw new DomainError('bad-config', `${where}.${key} is given twice. Leave one out.`);
}

type Rate = Pick<LearningRateOptions, 'value' | 'multiplier'>;

/** The second of two holds for what the first leaves. */
function joinedRate(one: Rate, other: Rate): Rate {
  const { multiplier } = other;
  if (multiplier === undefined) return other;
  return one.value === undefined
    ? { multiplier: (one.multiplier ?? 1) * multiplier }
    : { value: one.value * multiplier };
}

async function setOne(
  handle: RunHandle,
  setting: Setting,
  stepped: Pick<ChangeFlags, 'reason' | 'atStep'>,
): Promise<ControlReceipt> {
  if (setting.what === 'learningRate') return handle.setLearningRate({ ...stepped, ...setting.options });
  if (setting.what === 'schedule') {
    return handle.setEvalSchedule(setting.schedule, { ...stepped, ...setting.options });
  }
  return handle.setBudget({ ...optional({ reason: stepped.reason }), ...setting.options });
}

export function promoteCheckpoint(step: number, { reason }: ChangeFlags): Change {
  return async (handle, output) => {
    const receipt = await withReassurance(handle.promote(step, optional({ reason })), handle, output);
    return said(
      receipt,
      `The checkpoint of step ${step} is the best of run ${shown(handle)}, and is kept for good.`,
    );
  };
}

/** `checkpoint`: its step; null for the weights as they are. */
export function evaluateRun(checkpoint: number | null, flags: EvaluateFlags): Change {
  return async (handle, output) => {
    const { reason, evaluator: evaluators, wait } = flags;
    const asked = handle.runEvaluation({
      ...optional({ reason, evaluators }),
      ...(checkpoint !== null && { checkpoint }),
    });
    const receipt = await withReassurance(asked, handle, output);
    const names = Array.isArray(receipt.to) ? receipt.to.join(', ') : 'evaluators';
    output.note(`Run ${shown(handle)}: ${names} on step ${receipt.step}.`);
    const scores = wait ? await untilScored(handle, receipt, output) : null;
    return {
      ...said(receipt, `Scores: ${output.hint(`runs scores ${handle.name}`)}`),
      ...(scores && { scores }),
    };
  };
}

/** Shows the run until everything that was asked for has a score. */
async function untilScored(
  handle: RunHandle,
  { step, to }: ControlReceipt,
  output: Output,
): Promise<readonly ScoreRow[]> {
  const asked = Array.isArray(to) ? to : [];
  const done = new AbortController();
  const isAsked = (row: ScoreRow) =>
    row.schedule === 'requested' && row.step === step && asked.includes(row.evaluator);
  let rows: readonly ScoreRow[] = [];
  await watchRun(handle, {
    output,
    signal: done.signal,
    isShown: isAsked,
    onScores: (scores) => {
      rows = scores.filter(isAsked);
      if (asked.every((name) => rows.some(({ evaluator }) => evaluator === name))) done.abort();
    },
  });
  return rows;
}

function said(receipt: ControlReceipt, line: string): Said {
  return { receipts: [receipt], lines: [line] };
}

function shown({ name }: RunHandle): string {
  return escapeControls(name);
}

type Given<Values> = { readonly [Key in keyof Values]?: Exclude<Values[Key], undefined> };

/** Without what was not given. */
function optional<Values extends object>(values: Values): Given<Values> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- entries lose what the keys are
  return Object.fromEntries(given) as Given<Values>;
}
