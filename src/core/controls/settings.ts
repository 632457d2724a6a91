import type { ControlRequest } from '../controls';
import { fieldsOf, refused, requireControlRequest } from '../controls';
import type { BudgetRequest } from './budget';
import { requireBudgetRequest } from './budget';
import type { LearningRateRequest } from './learning-rate';
import { requireLearningRateRequest } from './learning-rate';
import type { ScheduleRequest } from './schedule-change';
import { requireScheduleRequest } from './schedule-change';

/** One of several changes that are made together. */
export type Setting =
  | { readonly control: 'setBudget'; readonly request: BudgetRequest }
  | { readonly control: 'setLearningRate'; readonly request: LearningRateRequest }
  | { readonly control: 'setEvalSchedule'; readonly request: ScheduleRequest };

/** Changes that are made at one boundary, all of them or none. */
export interface SettingsRequest extends ControlRequest {
  readonly settings: readonly Setting[];
}

const MAX_SETTINGS = 50;
const MOST_SHOWN = 80;

const SHAPES: Readonly<Record<Setting['control'], (request: unknown) => void>> = {
  setBudget: requireBudgetRequest,
  setLearningRate: requireLearningRateRequest,
  setEvalSchedule: requireScheduleRequest,
};

export function requireSettingsRequest(request: unknown): void {
  requireControlRequest(request);
  const { settings } = fieldsOf(request);
  if (!Array.isArray(settings) || settings.length === 0 || settings.length > MAX_SETTINGS) {
    throw refused(`"settings" has to be a list of 1 to ${MAX_SETTINGS} changes.`);
  }
  for (const setting of settings) requireSetting(setting);
}

function requireSetting(setting: unknown): void {
  const { control, request } = fieldsOf(setting);
  const [, requireShape] = Object.entries(SHAPES).find(([name]) => name === control) ?? [];
  if (!requireShape) {
    const called = typeof control === 'string' ? control.slice(0, MOST_SHOWN) : typeof control;
    throw refused(`Unknown change "${called}" in "settings". Known: ${Object.keys(SHAPES).join(', ')}.`);
  }
  requireShape(request);
}
