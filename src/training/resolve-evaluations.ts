import { isDeepStrictEqual } from 'node:util';
import type { EvaluatorConfig, ScheduleConfig } from '../config/evaluation-config';
import type { SupervisedConfig } from '../config/supervised-config';
import { DomainError } from '../core/errors';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';

/** The field's defaults for supervised runs. */
const EVAL_EVERY = 10;
const INFREQUENT_EVAL_EVERY = 100;

export interface ResolvedEvaluations {
  readonly schedules: readonly EvaluationSchedule[];
  /** Options of each evaluator by its name. */
  readonly evaluators: Readonly<Record<string, EvaluatorConfig>>;
}

/**
 * Brings both forms of the config (`evaluators` with `evalEvery`, or `schedules`) to one list of schedules.
 *
 * `testSet` is the `nll` evaluator of the dataset's own test split, run unasked with the periodic ones.
 */
export function resolveEvaluations(
  config: SupervisedConfig,
  testSet: EvaluatorConfig | null,
): ResolvedEvaluations {
  const evaluators = new Map<string, EvaluatorConfig>();
  const schedules = schedulesOf(config, testSet).map((schedule): EvaluationSchedule => {
    const { evaluators: configs, every, at, ...rest } = schedule;
    const names = configs.map((evaluator) => register(evaluators, evaluator));
    return { ...rest, ...(every && { every }), ...(at && { at }), evaluators: [...new Set(names)] };
  });
  refuseDoubledNames(schedules);
  return { schedules, evaluators: Object.fromEntries(evaluators) };
}

function evaluatorName(evaluator: EvaluatorConfig): string {
  return evaluator.type === 'benchmark' ? (evaluator.name ?? evaluator.benchmark) : evaluator.name;
}

function schedulesOf(config: SupervisedConfig, testSet: EvaluatorConfig | null): ScheduleConfig[] {
  const given = config.schedules ?? shortForm(config);
  if (!testSet || hasEvaluator(given, evaluatorName(testSet))) return given;
  const [first, ...others] = given;
  if (first) return [{ ...first, evaluators: [...first.evaluators, testSet] }, ...others];
  return [schedule('evaluators', config.evalEvery ?? EVAL_EVERY, [testSet])].filter(
    (added) => added !== null,
  );
}

function shortForm(config: SupervisedConfig): ScheduleConfig[] {
  return [
    schedule('evaluators', config.evalEvery ?? EVAL_EVERY, config.evaluators ?? []),
    schedule(
      'infrequentEvaluators',
      config.infrequentEvalEvery ?? INFREQUENT_EVAL_EVERY,
      config.infrequentEvaluators ?? [],
    ),
  ].filter((short) => short !== null);
}

function schedule(name: string, every: number, evaluators: EvaluatorConfig[]): ScheduleConfig | null {
  if (every === 0 || evaluators.length === 0) return null;
  return {
    name,
    every: { steps: every },
    offset: 0,
    atStart: true,
    atEnd: true,
    mode: 'background',
    evaluators,
  };
}

function hasEvaluator(schedules: readonly ScheduleConfig[], name: string): boolean {
  return schedules.some(({ evaluators }) =>
    evaluators.some((evaluator) => evaluatorName(evaluator) === name),
  );
}

function register(known: Map<string, EvaluatorConfig>, evaluator: EvaluatorConfig): string {
  const name = evaluatorName(evaluator);
  const other = known.get(name);
  if (other && !isDeepStrictEqual(other, evaluator)) {
    throw new DomainError(
      'bad-config',
      `evaluators: two evaluators are called "${name}" and differ. Give one of them another "name".`,
    );
  }
  known.set(name, evaluator);
  return name;
}

function refuseDoubledNames(schedules: readonly EvaluationSchedule[]): void {
  const doubled = schedules.find(
    ({ name }, index) => schedules.findIndex((other) => other.name === name) !== index,
  );
  if (!doubled) return;
  throw new DomainError(
    'bad-config',
    `schedules: two are called "${doubled.name}". Give each its own "name".`,
  );
}
