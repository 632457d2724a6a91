import type { z } from 'zod';
import { DomainError } from '../core/errors';
import { configError, explainIssues, isPlainObject } from './config-errors';
import { resolveConfigPaths } from './config-paths';
import { refuseSecrets } from './config-secrets';
import { evaluatorsOf } from './evaluators-of';
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
  const lacking = kindLacking(config);
  const value = lacking === null ? config : lacking.asMeant;
  const schema: z.ZodType<TrainingConfig> = schemaFor(value, source);
  const parsed = schema.safeParse(value, { reportInput: true });
  const found = parsed.success
    ? contradictions(parsed.data)
    : explainIssues(parsed.error.issues, { schema, value });
  if (parsed.success && found.length === 0 && lacking === null) return parsed.data;
  throw configError(source, lacking === null ? found : [lacking.problem, ...found]);
}

function schemaFor(config: unknown, source: string) {
  const kind = isPlainObject(config) ? config['kind'] : undefined;
  if (kind === 'sft' || kind === 'rl') return TRAINING_CONFIGS[kind];
  const what = kind === undefined ? 'missing' : JSON.stringify(kind);
  throw new DomainError('bad-config', `${source}: kind is ${what}. Known: ${KINDS}.`);
}

const KINDS = Object.keys(TRAINING_CONFIGS).join(', ');

/** Configs of other tools have no kind: what else is wrong with one is told in the same breath, as of the kind that its keys are of. */
function kindLacking(config: unknown): { readonly problem: string; readonly asMeant: object } | null {
  if (!isPlainObject(config) || config['kind'] !== undefined) return null;
  const kind = 'environment' in config ? 'rl' : 'sft';
  return { problem: `kind is missing. Known: ${KINDS}.`, asMeant: { ...config, kind } };
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
  return evaluatorsOf(config)
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
