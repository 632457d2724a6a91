import { resolveEvaluations } from './resolve-evaluations';
import type { RunRecord } from './run-folder';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';

/** The schedules a run was prepared with, told from its folder. */
export function recordedSchedules({ config, evaluators }: RunRecord): readonly EvaluationSchedule[] {
  const named = resolveEvaluations(config, 'unknown').evaluators;
  const unasked = Object.entries(evaluators).find(([name]) => !Object.hasOwn(named, name));
  return resolveEvaluations(config, unasked?.[1] ?? 'unknown').schedules;
}
