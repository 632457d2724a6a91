import { types } from 'node:util';
import { z } from 'zod';
import { DomainError } from '../../core/errors';
import { makeExampleId } from '../../evaluation/example';
import { isEnvironment } from '../../evaluation/benchmarks/benchmark-input';
import type {
  EnvironmentBounds,
  EnvironmentDataset,
  EnvironmentGroup,
  TrainingEnvironment,
} from './environment-dataset';
import { problemOfTags } from '../../core/metric-names';
import { listedDataset, splitDataset } from './listed-dataset';
import { awaitPlugin, callPlugin } from '../plugin-call';

/** An environment of one's own, as a plug-in file exports it under `environments`; or a function of options that gives one. */
export interface PluginEnvironment<Problem = unknown> {
  /** One problem a group. Plain JSON, the same on every call. */
  readonly problems: readonly Problem[] | (() => readonly Problem[] | Promise<readonly Problem[]>);
  /** Problems that are never trained on; default: `testSize` of the others are kept apart. */
  readonly testProblems?: readonly Problem[] | (() => readonly Problem[] | Promise<readonly Problem[]>);
  /** A new environment at every call. */
  make(problem: Problem, member: number, bounds?: EnvironmentBounds): TrainingEnvironment;
  /** Names that metrics are split by; default: the environment's name. */
  tags?(problem: Problem): readonly string[];
  /** Judges the rollouts of one problem together. */
  rewards?: EnvironmentGroup['rewards'];
}

export interface PluginEnvironmentOptions {
  readonly environment: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly testSize: number;
  readonly limit?: number | undefined;
}

/** What a plug-in file brings under `environments`. */
export interface PluginEnvironments {
  readonly file: string | null;
  readonly environments?: ReadonlyMap<string, unknown>;
}

const aFunction = z.custom<(...given: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);
const problems = z.union([z.array(z.unknown()), aFunction], 'must be a list or a function');
const Shape = z.looseObject({
  problems,
  testProblems: problems.optional(),
  make: aFunction,
  tags: aFunction.optional(),
  rewards: aFunction.optional(),
});

export async function pluginEnvironments(
  plugins: PluginEnvironments,
  config: PluginEnvironmentOptions,
): Promise<EnvironmentDataset> {
  const { environment: name, testSize, limit } = config;
  const declared = declaredEnvironment(plugins, config);
  const listOf = (given: PluginEnvironment['problems']) =>
    awaitPlugin(partOf(plugins, name), () => (typeof given === 'function' ? given() : given));
  const problemList = await listOf(declared.problems);
  const groupOf = (problem: unknown) => groupOfProblem(declared, problem, { name, plugins });
  if (declared.testProblems === undefined) {
    const askedBy = (problem: unknown) => idOfProblem(name, problem);
    return splitDataset(name, problemList, { groupOf, testSize, limit, askedBy });
  }
  const test = listedDataset(name, await listOf(declared.testProblems), { groupOf, test: null });
  return listedDataset(name, problemList.slice(0, limit), { groupOf, test });
}

function declaredEnvironment(
  plugins: PluginEnvironments,
  { environment: name, options }: PluginEnvironmentOptions,
): PluginEnvironment {
  const given = plugins.environments?.get(name);
  if (given === undefined) throw unknownEnvironment(plugins, name);
  const built = callPlugin(partOf(plugins, name), (): unknown =>
    typeof given === 'function' ? Reflect.apply(given, undefined, [options]) : given,
  );
  if (isPluginEnvironment(built)) return built;
  throw refusal(plugins, name, problemOf(built));
}

function problemOf(built: unknown): string {
  const [issue] = Shape.safeParse(built).error?.issues ?? [];
  if (issue === undefined || issue.path.length === 0) return 'must be an object';
  return `${issue.path.join('.')}: ${issue.message}`;
}

function isPluginEnvironment(value: unknown): value is PluginEnvironment {
  return Shape.safeParse(value).success;
}

function partOf({ file }: PluginEnvironments, name: string) {
  return { subject: `environment "${name}"`, file };
}

function idOfProblem(name: string, problem: unknown): string {
  return makeExampleId(name, JSON.stringify(problem));
}

function groupOfProblem(
  declared: PluginEnvironment,
  problem: unknown,
  { name, plugins }: { readonly name: string; readonly plugins: PluginEnvironments },
): EnvironmentGroup {
  const described = callPlugin(partOf(plugins, name), () => ({
    id: idOfProblem(name, problem),
    tags: declared.tags?.(ownProblem(problem)) ?? [name],
  }));
  const problemOfThese = problemOfTags(described.tags);
  if (problemOfThese !== null) throw refusal(plugins, name, `tags: ${problemOfThese}`);
  return {
    ...described,
    hasHiddenTools: true,
    make(member, bounds) {
      const made: unknown = declared.make(ownProblem(problem), member, bounds);
      if (isEnvironment(made)) return made;
      throw refusal(plugins, name, `make: ${problemOfMade(made)}`);
    },
    ...(declared.rewards && { rewards: declared.rewards.bind(declared) }),
  };
}

function problemOfMade(made: unknown): string {
  const wanted = 'must return an object with initialObservation and step';
  if (!types.isPromise(made)) return wanted;
  // Nobody else hears what becomes of it.
  made.catch(() => undefined);
  return `${wanted}, and not a promise of one: what takes time belongs into initialObservation`;
}

/** What a rollout does to its problem, it does to no other's. What is no plain data is handed over as it is. */
function ownProblem(problem: unknown): unknown {
  return isPlain(problem) ? structuredClone(problem) : problem;
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return !['function', 'symbol'].includes(typeof value);
  if (Array.isArray(value)) return value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  const isClassless = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isClassless && Object.values(value).every(isPlain);
}

function unknownEnvironment({ file, environments }: PluginEnvironments, name: string): DomainError {
  const known = [...(environments?.keys() ?? [])].join(', ') || 'none';
  const remedy =
    file === null
      ? 'No plug-in file is loaded: name it under "plugins" in the config.'
      : `${file} has: ${known}.`;
  return new DomainError('bad-plugin', `environment: unknown environment "${name}". ${remedy}`);
}

function refusal({ file }: PluginEnvironments, name: string, what: string): DomainError {
  return new DomainError(
    'bad-plugin',
    `plugins: ${file ?? ''}: environment "${name}" ${what}. See examples/rl-environment for one that works.`,
  );
}
