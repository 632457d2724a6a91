import { z } from 'zod';
import { explainIssues } from '../config/config-errors';
import type { ControlRequest, StopRequest } from '../core/controls';
import { MAX_REASON_LENGTH } from '../core/controls';
import type { BudgetRequest } from '../core/controls/budget';
import type { EvaluationRequest } from '../core/controls/evaluation-request';
import type { LearningRateRequest } from '../core/controls/learning-rate';
import { MAX_LEARNING_RATE, MAX_MULTIPLIER } from '../core/controls/learning-rate';
import type { PauseEnding, PauseRequest } from '../core/controls/pause';
import { MAX_PAUSE_SECONDS } from '../core/controls/pause';
import type { PromotionRequest } from '../core/controls/promotion';
import type { ScheduleRequest } from '../core/controls/schedule-change';
import type { Setting, SettingsRequest } from '../core/controls/settings';
import { DomainError } from '../core/errors';
import { currentUser } from './provenance';

export interface ControlOptions {
  /** Why, for whoever reads the run's record later. */
  readonly reason?: string;
  /** Who asks; default this user on this host. */
  readonly by?: string;
}

export interface StopOptions extends ControlOptions {
  /** Last step to train; default the earliest that is not under way. */
  readonly atStep?: number;
}

export interface PauseOptions extends ControlOptions {
  /** Last step to train before it; default those that are under way. */
  readonly atStep?: number;
  /** How long it lasts; default until somebody resumes the run. */
  readonly seconds?: number;
  /** What happens then; default `resume`. */
  readonly then?: PauseEnding;
}

/** Give `value` or `multiplier`. */
export interface LearningRateOptions extends ControlOptions {
  /** The new peak, as `learningRate` is in the config. */
  readonly value?: number;
  /** Times the peak as it is. */
  readonly multiplier?: number;
  /** First step that has it; default the earliest that is not under way. */
  readonly atStep?: number;
}

/** What is left out stays as it is. */
export interface ScheduleOptions extends ControlOptions {
  readonly every?:
    { readonly steps: number } | { readonly tokens: number } | { readonly seconds: number } | 'never';
  readonly at?: readonly number[];
  /** Names of evaluators the run was started with. */
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
  readonly atStep?: number;
}

export interface EvaluationOptions extends ControlOptions {
  /** Names; default all that the run has. */
  readonly evaluators?: readonly string[];
  /** Step of a kept checkpoint; default the weights as they are. */
  readonly checkpoint?: number;
}

/** What is left out stays as it is; null takes a limit away. */
export interface BudgetOptions extends ControlOptions {
  readonly tokens?: number | null;
  readonly seconds?: number | null;
  readonly dollars?: number | null;
  readonly dollarsPerMillionTokens?: number | null;
}

/** What is left out stays as it is. */
export interface SettingsOptions extends ControlOptions {
  readonly learningRate?: Pick<LearningRateOptions, 'value' | 'multiplier'>;
  /** By the schedule's name. */
  readonly schedules?: Readonly<Record<string, Pick<ScheduleOptions, 'every' | 'at' | 'add' | 'remove'>>>;
  readonly budget?: Omit<BudgetOptions, keyof ControlOptions>;
  /** First step that has the learning rate and the schedules; default the earliest that is not under way. */
  readonly atStep?: number;
}

const name = z.string().min(1).max(64);
const atStep = z.int().min(1).nullable();
const Control = z.strictObject({
  by: z.string().min(1).max(200),
  reason: z.string().max(MAX_REASON_LENGTH),
});
const Stop = Control.extend({ atStep });
const Pause = Control.extend({
  atStep: z.int().min(0).nullable(),
  seconds: z.number().positive().max(MAX_PAUSE_SECONDS).nullable(),
  then: z.enum(['resume', 'stop']),
});
const LearningRate = Control.extend({
  atStep,
  value: z.number().positive().max(MAX_LEARNING_RATE).nullable(),
  multiplier: z.number().positive().max(MAX_MULTIPLIER).nullable(),
}).refine(({ value, multiplier }) => (value === null) !== (multiplier === null), {
  path: ['value'],
  message: 'give a value or a multiplier, one of them',
});
const Schedule = Control.extend({
  schedule: name,
  every: z
    .union([
      z.strictObject({ steps: z.int().min(1) }),
      z.strictObject({ tokens: z.int().min(1) }),
      z.strictObject({ seconds: z.number().positive() }),
      z.literal('never'),
    ])
    .nullable(),
  at: z.array(z.int().min(0)).min(1).max(1000).nullable(),
  add: z.array(name).max(100),
  remove: z.array(name).max(100),
  atStep,
});
const Evaluation = Control.extend({
  evaluators: z.array(name).max(100),
  checkpoint: z.int().min(0).nullable(),
});
const limitOrNone = z.number().positive().max(1e15).nullable().optional();
const BudgetLimits = Control.extend({
  limits: z
    .strictObject({
      tokens: limitOrNone,
      seconds: limitOrNone,
      dollars: limitOrNone,
      dollarsPerMillionTokens: limitOrNone,
    })
    .refine((limits) => Object.keys(limits).length > 0, 'give at least one limit'),
});
const Promotion = Control.extend({ checkpoint: z.int().min(0) });

export function controlRequest({ reason = '', by = currentUser() }: ControlOptions): ControlRequest {
  return parse(Control, { reason, by });
}

export function stopRequest({ atStep: step, ...options }: StopOptions): StopRequest {
  return parse(Stop, { ...controlRequest(options), atStep: step ?? null });
}

export function pauseRequest(options: PauseOptions): PauseRequest {
  const { atStep: step = null, seconds = null, then = 'resume' } = options;
  return parse(Pause, { ...controlRequest(options), atStep: step, seconds, then });
}

export function learningRateRequest(options: LearningRateOptions): LearningRateRequest {
  const { atStep: step = null, value = null, multiplier = null } = options;
  return parse(LearningRate, { ...controlRequest(options), atStep: step, value, multiplier });
}

export function scheduleRequest(schedule: string, options: ScheduleOptions): ScheduleRequest {
  const { every = null, at = null, add = [], remove = [], atStep: step = null } = options;
  requireWhole(every);
  return parse(Schedule, { ...controlRequest(options), schedule, every, at, add, remove, atStep: step });
}

export function evaluationRequest(options: EvaluationOptions): EvaluationRequest {
  const { evaluators = [], checkpoint = null } = options;
  return parse(Evaluation, { ...controlRequest(options), evaluators, checkpoint });
}

export function budgetRequest({ reason, by, ...limits }: BudgetOptions): BudgetRequest {
  const who = controlRequest({ ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) });
  return parse(BudgetLimits, { ...who, limits });
}

export function settingsRequest({
  learningRate,
  schedules = {},
  budget,
  ...options
}: SettingsOptions): SettingsRequest {
  const who = controlRequest(options);
  const rate: Setting[] = learningRate
    ? [{ control: 'setLearningRate', request: learningRateRequest({ ...options, ...learningRate }) }]
    : [];
  const limits: Setting[] = budget
    ? [{ control: 'setBudget', request: budgetRequest({ ...who, ...budget }) }]
    : [];
  const timed = Object.entries(schedules).map(([schedule, change]): Setting => ({
    control: 'setEvalSchedule',
    request: scheduleRequest(schedule, { ...options, ...change }),
  }));
  const settings = [...limits, ...rate, ...timed];
  if (settings.length > 0) return { ...who, settings };
  throw new DomainError('bad-config', 'The change is not valid: give learningRate, schedules or budget.');
}

export function promotionRequest(checkpoint: number, options: ControlOptions): PromotionRequest {
  return parse(Promotion, { ...controlRequest(options), checkpoint });
}

function requireWhole(every: ScheduleOptions['every'] | null): void {
  if (every === null || every === undefined || every === 'never' || 'seconds' in every) return;
  for (const [unit, count] of Object.entries(every)) {
    if (Number.isInteger(count) && count >= 1) continue;
    throw new DomainError(
      'bad-config',
      `The change is not valid: every.${unit} is ${String(count)}. Give a whole number from 1 on.`,
    );
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const problems = explainIssues(result.error.issues, { schema, value });
  throw new DomainError('bad-config', `The change is not valid: ${problems.join(' ')}`);
}
