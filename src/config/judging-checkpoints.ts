import type { EnvironmentConfig } from './environment-config';
import type { EvaluatorConfig } from './evaluation-config';
import { evaluatorsOf } from './evaluators-of';
import type { JudgeConfig } from './judge-config';
import type { TrainingConfig } from './training-config';

/** A checkpoint of a run that judges, or is compared with. */
export interface JudgingCheckpoint {
  /** What names it, as messages call it. */
  readonly key: string;
  readonly checkpoint: string;
  /** It makes rewards, which may not change while a run trains. */
  readonly needsStep: boolean;
}

/** Every checkpoint by the name of its run that judges or baselines of a config are. */
export function judgingCheckpoints(config: TrainingConfig): JudgingCheckpoint[] {
  const ofEvaluators = evaluatorsOf(config).flatMap((evaluator) =>
    namedBy(evaluator, (part) => ({
      key: `evaluators: ${part} of "${nameOf(evaluator)}"`,
      needsStep: false,
    })),
  );
  const environments = config.kind === 'rl' ? singleEnvironments(config.environment) : [];
  const ofEnvironments = environments.flatMap((environment) =>
    namedBy(environment, (part) => ({ key: `environment.${part}.checkpoint`, needsStep: true })),
  );
  return [...ofEvaluators, ...ofEnvironments];
}

function singleEnvironments(environment: EnvironmentConfig): EnvironmentConfig[] {
  return environment.type === 'mixture' ? environment.parts.map((part) => part.environment) : [environment];
}

function nameOf(evaluator: EvaluatorConfig): string {
  return evaluator.name ?? (evaluator.type === 'benchmark' ? evaluator.benchmark : evaluator.type);
}

function namedBy(
  asked: EvaluatorConfig | EnvironmentConfig,
  at: (part: 'judge' | 'baseline') => Omit<JudgingCheckpoint, 'checkpoint'>,
): JudgingCheckpoint[] {
  const judges: readonly JudgeConfig[] = 'judge' in asked ? (asked.judge ?? []) : [];
  const baseline = asked.type === 'comparison' && typeof asked.baseline === 'object' ? [asked.baseline] : [];
  return [
    ...judges.map(({ checkpoint }) => ({ ...at('judge'), checkpoint })),
    ...baseline.map(({ checkpoint }) => ({ ...at('baseline'), checkpoint })),
  ].filter((named): named is JudgingCheckpoint => isOfRun(named.checkpoint));
}

function isOfRun(checkpoint: string | undefined): boolean {
  return checkpoint !== undefined && !checkpoint.includes('://');
}
