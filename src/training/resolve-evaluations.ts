import { isDeepStrictEqual } from 'node:util';
import type { EvaluatorConfig, ScheduleConfig } from '../config/evaluation-config';
import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import { givenLimits } from './given-limits';
import { resolveGate } from './resolve-gate';

/** The field's defaults. */
const EVAL_EVERY = { sft: 10, rl: 20 };
const INFREQUENT_EVAL_EVERY = 100;

export interface ResolvedEvaluations {
  readonly schedules: readonly EvaluationSchedule[];
  /** Options of each evaluator by its name. */
  readonly evaluators: Readonly<Record<string, EvaluatorConfig>>;
}

/**
 * Brings both forms of the config (`evaluators` with `evalEvery`, or `schedules`) to one list of schedules.
 *
 * `testSet` is the `nll` evaluator of the dataset's own test split, run unasked with the periodic ones; `unknown` before the
 * dataset is read.
 */
export function resolveEvaluations(
  config: TrainingConfig,
  testSet: EvaluatorConfig | 'unknown' | null,
): ResolvedEvaluations {
  const evaluators = new Map<string, EvaluatorConfig>();
  const known = testSet === 'unknown' ? null : testSet;
  const possible = testSet === 'unknown' ? possibleTestSet(config) : [];
  const schedules = schedulesOf(config, known).map((schedule): EvaluationSchedule => {
    const { evaluators: configs, every, at, gate, budget, ...rest } = schedule;
    const names = configs.map((evaluator) => register(evaluators, evaluator));
    return {
      ...rest,
      ...(every && { every }),
      ...(at && { at }),
      ...(gate && {
        gate: resolveGate(gate, {
          schedule: schedule.name,
          evaluators: namedEvaluators([...configs, ...possible]),
        }),
      }),
      ...(budget && { budget: givenLimits(budget) }),
      evaluators: [...new Set(names)],
    };
  });
  refuseDoubledNames(schedules);
  refuseRivals(schedules);
  return { schedules, evaluators: Object.fromEntries(evaluators) };
}

function namedEvaluators(configs: readonly EvaluatorConfig[]) {
  return configs.map((evaluator) => ({ name: evaluatorName(evaluator), evaluator }));
}

function possibleTestSet(config: TrainingConfig): EvaluatorConfig[] {
  if (config.kind !== 'sft') return [];
  return [{ type: 'nll', name: 'test', dataset: config.dataset, concurrency: 1 }];
}

function evaluatorName(evaluator: EvaluatorConfig): string {
  if (evaluator.type === 'benchmark') return evaluator.name ?? evaluator.benchmark;
  return evaluator.type === 'kind' ? (evaluator.name ?? evaluator.task) : evaluator.name;
}

function schedulesOf(config: TrainingConfig, testSet: EvaluatorConfig | null): ScheduleConfig[] {
  const given = config.schedules ?? shortForm(config);
  if (!testSet || hasEvaluator(given, evaluatorName(testSet))) return given;
  const [first, ...others] = given;
  if (first) return [{ ...first, evaluators: [...first.evaluators, testSet] }, ...others];
  return [schedule('evaluators', config.evalEvery ?? EVAL_EVERY[config.kind], [testSet])].filter(
    (added) => added !== null,
  );
}

function shortForm(config: TrainingConfig): ScheduleConfig[] {
  return [
    schedule('evaluators', config.evalEvery ?? EVAL_EVERY[config.kind], config.evaluators ?? []),
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
    overlap: 'queue',
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

/** There is one best checkpoint, so one gate chooses it. */
function refuseRivals(schedules: readonly EvaluationSchedule[]): void {
  const promoting = schedules.filter(({ gate }) => gate?.promotes).map(({ name }) => `"${name}"`);
  if (promoting.length < 2) return;
  throw new DomainError(
    'bad-config',
    `schedules: the gates of ${promoting.join(' and ')} would promote checkpoints by different scores. Set gate.promotes: false on all but one.`,
  );
}
