import { DomainError } from '../core/errors';
import { isPlainObject } from './config-errors';
import { importDataset } from './import-cookbook-dataset';
import type { NotCarried } from './import-cookbook-keys';
import { CARRIED_KEYS, LEFT_OUT_KEYS, otherKindOf } from './import-cookbook-keys';
import { parseTrainingConfig } from './parse-training-config';
import { SupervisedConfig } from './supervised-config';

export interface ImportedConfig {
  /** In our keys, in the order of the schema; accepted by it. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly notCarried: readonly NotCarried[];
}

export interface ImportOptions {
  /** How messages call the file that is imported. */
  readonly source: string;
  /** Takes the place of the data that the cookbook's config reads. */
  readonly dataset?: string | undefined;
  /** Where relative paths start: the folder the cookbook's loop was started in. */
  readonly folder: string;
}

/** The shortest life of a checkpoint that our schema accepts. */
const SHORTEST_TTL_SECONDS = 3600;
const DEEPEST_PIPELINE = 16;

/**
 * A run of tinker-cookbook's supervised loop as a config of ours. Every key of the cookbook is carried over, the same
 * as what happens here anyway, or reported in `notCarried`.
 */
export function importCookbookConfig(written: unknown, options: ImportOptions): ImportedConfig {
  const cookbook = requireSupervised(written, options.source);
  const data = importDataset(cookbook['dataset_builder'], { ...options, model: cookbook['model_name'] });
  const config: Record<string, unknown> = { kind: 'sft', ...data.keys };
  const notCarried = [
    ...carryKeys(cookbook, config),
    ...limit(config),
    ...leftOut(cookbook),
    ...rendererOf(cookbook, config['renderer']),
    ...data.notCarried,
    ...evaluatorsOf(cookbook),
  ];
  parseTrainingConfig(config, `${options.source}, converted`);
  return { config: inOrder(config), notCarried };
}

function requireSupervised(written: unknown, source: string): Readonly<Record<string, unknown>> {
  if (!isPlainObject(written)) {
    throw new DomainError(
      'bad-config',
      `${source} holds no config. Give the config.json that the cookbook's supervised loop writes into its log_path.`,
    );
  }
  const other = otherKindOf(written);
  if (other) {
    throw new DomainError(
      'bad-config',
      `${source} is for ${other.kind} (it has "${other.key}"), which cannot be imported: only supervised configs can so far. Write the config by hand; docs/configuration.md lists the keys.`,
    );
  }
  if (written['kind'] !== undefined) {
    throw new DomainError(
      'bad-config',
      `${source} is a config of everstep already. Start it with: everstep train FILE.`,
    );
  }
  return written;
}

/** Copies what has a key of ours; reports what has neither a key nor a reason to be left out. */
function carryKeys(
  cookbook: Readonly<Record<string, unknown>>,
  config: Record<string, unknown>,
): NotCarried[] {
  const unknown: NotCarried[] = [];
  for (const [key, value] of Object.entries(cookbook)) {
    const ours = Object.hasOwn(CARRIED_KEYS, key) ? CARRIED_KEYS[key] : undefined;
    if (ours !== undefined) setKey(config, ours, value);
    else if (!isHandledApart(key)) unknown.push({ key, reason: 'its meaning is not known here' });
  }
  const { max_steps: maxSteps } = cookbook;
  if (maxSteps == null) return unknown;
  config['steps'] = maxSteps;
  delete config['epochs'];
  const reason = `steps ${JSON.stringify(maxSteps)} alone decides here; the cookbook stops earlier where the epochs are fewer steps`;
  return [...unknown, { key: 'num_epochs', reason }];
}

const HANDLED_APART = ['dataset_builder', 'max_steps', 'renderer_name'];
const EVALUATOR_KEYS = ['evaluator_builders', 'infrequent_evaluator_builders'];

function isHandledApart(key: string): boolean {
  return HANDLED_APART.includes(key) || EVALUATOR_KEYS.includes(key) || Object.hasOwn(LEFT_OUT_KEYS, key);
}

/** `ttlSeconds: null` means for ever; any other null means the default. */
function setKey(config: Record<string, unknown>, key: string, value: unknown): void {
  if (value === null && key !== 'ttlSeconds') return;
  const [outer = key, inner] = key.split('.');
  if (inner === undefined) config[outer] = value;
  else config[outer] = { ...(isPlainObject(config[outer]) ? config[outer] : {}), [inner]: value };
}

/** Values beyond our bounds whose meaning survives at the bound. */
function limit(config: Record<string, unknown>): NotCarried[] {
  const notCarried: NotCarried[] = [];
  for (const [theirs, ours] of [
    ['ttl_seconds', 'ttlSeconds'],
    ['rolling_ttl_seconds', 'rollingTtlSeconds'],
  ] as const) {
    const value = config[ours];
    if (typeof value !== 'number' || value >= SHORTEST_TTL_SECONDS) continue;
    config[ours] = SHORTEST_TTL_SECONDS;
    const reason = `${value} became ${SHORTEST_TTL_SECONDS}: a checkpoint lives an hour at least`;
    notCarried.push({ key: theirs, reason });
  }
  const ahead = config['submitAhead'];
  if (typeof ahead === 'number' && ahead > DEEPEST_PIPELINE) {
    config['submitAhead'] = DEEPEST_PIPELINE;
    const reason = `${ahead} became ${DEEPEST_PIPELINE}, the most steps that can be queued`;
    notCarried.push({ key: 'submit_ahead', reason });
  }
  return notCarried;
}

function leftOut(cookbook: Readonly<Record<string, unknown>>): NotCarried[] {
  return Object.entries(LEFT_OUT_KEYS).flatMap(([key, { silent, reason }]) =>
    Object.hasOwn(cookbook, key) && !silent.includes(cookbook[key]) ? [{ key, reason }] : [],
  );
}

/** The outer name only labels checkpoints; the builder's is the one that renders. */
function rendererOf(cookbook: Readonly<Record<string, unknown>>, renders: unknown): NotCarried[] {
  const label = cookbook['renderer_name'];
  if (label == null || label === renders) return [];
  return [{ key: 'renderer_name', reason: `the dataset is rendered by ${JSON.stringify(renders)}` }];
}

function evaluatorsOf(cookbook: Readonly<Record<string, unknown>>): NotCarried[] {
  return EVALUATOR_KEYS.flatMap((key) => {
    const builders = cookbook[key];
    if (!Array.isArray(builders) || builders.length === 0) return [];
    const named = builders.filter((builder) => typeof builder === 'string').join(', ');
    const what = named === '' ? `${builders.length} of them` : named;
    const target = key.startsWith('infrequent') ? 'infrequentEvaluators' : 'evaluators';
    const reason = `${what}: Python code; name a benchmark under ${target} or write an evaluator in a plug-in file`;
    return [{ key, reason }];
  });
}

function inOrder(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const order = Object.keys(SupervisedConfig.shape);
  return Object.fromEntries(
    Object.entries(config)
      .filter(([, value]) => value !== undefined)
      .sort(([one], [other]) => order.indexOf(one) - order.indexOf(other)),
  );
}
