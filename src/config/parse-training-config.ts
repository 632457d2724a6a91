import type { z } from 'zod';
import { DomainError } from '../core/errors';
import { explainIssues, isPlainObject } from './config-errors';
import { resolveConfigPaths } from './config-paths';
import { refuseSecrets } from './config-secrets';
import { reinforcementContradictions } from './reinforcement-contradictions';
import type { TrainingConfig, TrainingConfigInput } from './training-config';
import { TRAINING_CONFIGS } from './training-config';

const SHORT_FORM = ['evalEvery', 'evaluators', 'infrequentEvalEvery', 'infrequentEvaluators'] as const;

/** Complete and check a config that is in memory. Relative paths start at the current folder. */
export function completeTrainingConfig(config: TrainingConfigInput): TrainingConfig {
  const copy: Record<string, unknown> = structuredClone(config);
  resolveConfigPaths(copy, process.cwd());
  return parseTrainingConfig(copy);
}

/** Complete and check a config whose paths are absolute; `source` is how messages call it. */
export function parseTrainingConfig(config: unknown, source = 'The config'): TrainingConfig {
  refuseSecrets(source, config);
  const schema: z.ZodType<TrainingConfig> = schemaFor(config, source);
  const parsed = schema.safeParse(config, { reportInput: true });
  const problems = parsed.success
    ? contradictions(parsed.data)
    : explainIssues(parsed.error.issues, { schema, value: config });
  if (parsed.success && problems.length === 0) return parsed.data;
  const [first = ''] = problems;
  throw new DomainError(
    'bad-config',
    problems.length === 1
      ? `${source}: ${first}`
      : `${source} has ${problems.length} problems:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
  );
}

function schemaFor(config: unknown, source: string) {
  const known = Object.keys(TRAINING_CONFIGS).join(', ');
  const kind = isPlainObject(config) ? config['kind'] : undefined;
  if (kind === undefined) throw new DomainError('bad-config', `${source}: kind is missing. Known: ${known}.`);
  if (kind === 'sft' || kind === 'rl') return TRAINING_CONFIGS[kind];
  throw new DomainError('bad-config', `${source}: kind is ${JSON.stringify(kind)}. Known: ${known}.`);
}

/** What no single key shows. */
function contradictions(config: TrainingConfig): string[] {
  return [
    ...reinforcementContradictions(config),
    ...environmentsOfNone(config),
    ...scheduleContradictions(config),
  ];
}

/** Evaluators of a kind of run that this one is not. */
function environmentsOfNone(config: TrainingConfig): string[] {
  if (config.kind === 'rl') return [];
  const { evaluators = [], infrequentEvaluators = [], schedules = [] } = config;
  const all = [
    ...evaluators,
    ...infrequentEvaluators,
    ...schedules.flatMap((schedule) => schedule.evaluators),
  ];
  return all
    .filter(({ type }) => type === 'rlTestSet')
    .map(
      ({ name }) =>
        `evaluators: "${name}" is an rlTestSet, which measures the environments of a run of kind rl; this one is ${config.kind}. Leave it out, or take nll, generation or benchmark.`,
    );
}

function scheduleContradictions(config: TrainingConfig): string[] {
  if (config.schedules === undefined) return [];
  const short = SHORT_FORM.filter((key) => config[key] !== undefined).map((key) => `"${key}"`);
  if (short.length === 0) return [];
  return [`"schedules" and ${short.join(', ')} are two forms of the same thing. Keep one of them.`];
}
