import type { BudgetOptions, LearningRateOptions, ScheduleOptions } from '../../client/control-requests';
import { nearestKey } from '../../core/nearest-key';
import { MAX_LEARNING_RATE, MAX_MULTIPLIER } from '../../core/controls/learning-rate';
import { DomainError } from '../../core/errors';
import { ownValue } from '../../core/own-value';

/** A change as `KEY=VALUE` says it. */
export type Setting =
  | { readonly what: 'budget'; readonly options: Pick<BudgetOptions, Limit> }
  | { readonly what: 'learningRate'; readonly options: Pick<LearningRateOptions, 'value' | 'multiplier'> }
  | {
      readonly what: 'schedule';
      readonly schedule: string;
      readonly options: Pick<ScheduleOptions, 'every' | 'at' | 'add' | 'remove'>;
    };

const LIMITS = ['tokens', 'seconds', 'dollars', 'dollarsPerMillionTokens'] as const;
type Limit = (typeof LIMITS)[number];

/** The short forms of the config and the schedules they stand for. */
const SHORT_FORMS: Readonly<Record<string, string>> = {
  evalEvery: 'evaluators',
  infrequentEvalEvery: 'infrequentEvaluators',
};

export const SETTINGS_HELP = `Settings:
  learningRate=5e-4                    the peak, as in the config; the schedule's shape goes on
  learningRate=x0.5                    times the peak as it is
  evalEvery=20                         steps between runs of the evaluators; 0 switches them off
  infrequentEvalEvery=100              the same for the infrequent ones
  schedules.NAME.every=20              steps; or 100000tokens, 30seconds, never
  schedules.NAME.at=100,200            listed steps
  schedules.NAME.evaluators=+a,-b      adds and removes evaluators the run was started with
  budget.tokens=1e9                    tokens trained on; the run warns at 80 % and pauses itself at the limit; or none
  budget.seconds=3600                  wall time in which it is not paused
  budget.dollars=5                     with budget.dollarsPerMillionTokens=0.4, the service's price`;

/** Reads `learningRate=5e-4`, `evalEvery=20` and the like. */
export function parseSetting(text: string): Setting {
  const cut = text.indexOf('=');
  if (cut < 1) throw new DomainError('bad-config', `"${text}" is no setting. Write KEY=VALUE.`);
  const [key, value] = [text.slice(0, cut).trim(), text.slice(cut + 1).trim()];
  if (key === 'learningRate') return { what: 'learningRate', options: rateOf(text, value) };
  const limit = LIMITS.find((name) => key === `budget.${name}`);
  if (limit) return { what: 'budget', options: { [limit]: limitOf(text, value) } };
  const short = ownValue(SHORT_FORMS, key);
  if (short !== undefined) {
    return {
      what: 'schedule',
      schedule: short,
      options: { every: rhythmOf(text, value === '0' ? 'never' : value) },
    };
  }
  const [, schedule, field] = /^schedules\.(.+)\.(every|at|evaluators)$/.exec(key) ?? [];
  if (schedule === undefined || field === undefined) throw unknownKey(key);
  return { what: 'schedule', schedule, options: scheduleOptions(text, field, value) };
}

function scheduleOptions(
  text: string,
  field: string,
  value: string,
): Pick<ScheduleOptions, 'every' | 'at' | 'add' | 'remove'> {
  if (field === 'every') return { every: rhythmOf(text, value) };
  const parts = value.split(',').map((part) => part.trim());
  if (field === 'at') return { at: parts.map((part) => wholeNumber(text, part)) };
  if (!parts.every((part) => /^[+-]./.test(part))) {
    throw badValue(text, 'Name evaluators with + to add and - to remove: +a,-b.');
  }
  const named = (sign: string) => parts.filter((part) => part.startsWith(sign)).map((part) => part.slice(1));
  const [add, remove] = [named('+'), named('-')];
  const both = add.find((name) => remove.includes(name));
  if (both !== undefined) throw badValue(text, `${both} is added and removed: leave one of the two out.`);
  return { add, remove };
}

function rateOf(text: string, value: string): Pick<LearningRateOptions, 'value' | 'multiplier'> {
  const isMultiplier = /^[x*]/.test(value);
  const number = toNumber(isMultiplier ? value.slice(1) : value);
  const most = isMultiplier ? MAX_MULTIPLIER : MAX_LEARNING_RATE;
  if (number === null || number <= 0 || number > most) {
    throw badValue(
      text,
      `Give a number, or x and a number to multiply what it is; above 0 and at most ${most}.`,
    );
  }
  return isMultiplier ? { multiplier: number } : { value: number };
}

function limitOf(text: string, value: string): number | null {
  if (value === 'none') return null;
  const number = toNumber(value);
  if (number === null || number <= 0) throw badValue(text, 'Give a number above 0, or none.');
  return number;
}

function rhythmOf(text: string, value: string): NonNullable<ScheduleOptions['every']> {
  if (value === 'never') return 'never';
  const [, amount = '', unit = 'steps'] = /^([\d.e+]+)\s*(steps|tokens|seconds|s)?$/.exec(value) ?? [];
  const number = toNumber(amount);
  if (number === null)
    throw badValue(text, 'Give a number of steps, or one with a unit: 20, 100000tokens, 30seconds.');
  if (unit.startsWith('s') && unit !== 'steps') return { seconds: number };
  if (!Number.isInteger(number)) {
    throw badValue(text, `Give a whole number of ${unit}: ${Math.max(1, Math.round(number))}.`);
  }
  return unit === 'tokens' ? { tokens: number } : { steps: number };
}

function wholeNumber(text: string, part: string): number {
  if (/^\d{1,12}$/.test(part)) return Number(part);
  throw badValue(text, 'Give whole numbers with commas between them.');
}

function toNumber(text: string): number | null {
  const number = text === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : null;
}

/** The setting exists; what it is set to does not do. */
function badValue(text: string, remedy: string): DomainError {
  const cut = text.indexOf('=');
  const [key, value] = [text.slice(0, cut).trim(), text.slice(cut + 1).trim()];
  return new DomainError('bad-config', `${key} cannot be ${JSON.stringify(value)}. ${remedy}`);
}

function unknownKey(key: string): DomainError {
  const known = [
    'learningRate',
    ...Object.keys(SHORT_FORMS),
    'schedules.NAME.every',
    'schedules.NAME.at',
    'schedules.NAME.evaluators',
    ...LIMITS.map((limit) => `budget.${limit}`),
  ];
  const nearest = nearestKey(key, known) ?? known.find((name) => name.endsWith(`.${key}`));
  const hint = nearest === undefined ? '' : `Did you mean "${nearest}"? `;
  return new DomainError(
    'bad-config',
    `"${key}" cannot be changed while a run goes on. ${hint}What can: ${known.join(', ')}.`,
  );
}
