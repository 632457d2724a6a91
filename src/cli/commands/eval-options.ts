import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { EvaluateOptions } from '../../client/evaluate-options';
import { parseBenchmarkConfig } from '../../config/benchmark-config';
import { absoluteInspectName } from '../../evaluation/inspect/task-name';
import { applyOverrides } from '../../config/config-overrides';
import { DomainError } from '../../core/errors';
import { CATALOGUE_NAMES } from '../../evaluation/benchmarks/catalogue-names';
import { UnknownBenchmarks } from '../../evaluation/unknown-benchmarks';
import { repeated } from '../repeated-option';
import type { PlaceFlags } from '../service-options';
import type * as EvalNames from './eval-names';
import { parseCount } from '../service-options';
import { addJudgeOptions, judgesFrom } from './judge-options';
import { ANSWERS, otherSpelling } from './eval-spellings';

export interface EvalFlags extends PlaceFlags {
  readonly model?: string;
  readonly endpoint?: string;
  readonly api?: string;
  readonly checkpoint?: string;
  readonly engine?: string;
  readonly renderer?: string;
  readonly evaluator?: string;
  readonly maxExamples?: number;
  readonly samples?: number;
  readonly concurrency?: number;
  readonly agentConcurrency?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly contextWindow?: number;
  readonly timeout?: number;
  readonly budget?: Readonly<Record<string, number>>;
  readonly systemPrompt?: string;
  readonly judge?: readonly string[];
  readonly judgeEndpoint?: string;
  readonly judgeEngine?: string;
  readonly judgeCheckpoint?: string;
  readonly plugins?: string;
  readonly set?: readonly string[];
  readonly run?: string;
  readonly output?: string;
  readonly answersFrom?: string;
  readonly json?: boolean;
}

export function addModelOptions(command: Command): void {
  command
    .option('--model <name>', 'what the endpoint or the engine calls the model')
    .option('--endpoint <url>', 'OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1')
    .option('--api <api>', 'API of the endpoint: chat or completions (chat)')
    .option('--checkpoint <checkpoint>', 'RUN, RUN@STEP, RUN@best, or tinker://… with --model')
    .option('--engine <url>', 'training service, or "tinker"; without --checkpoint its base model is asked')
    .option('--renderer <name>', "how conversations become tokens (the run's, else the model's)")
    .option('--evaluator <name>', 'run this evaluator of the run of --checkpoint instead of benchmarks');
}

export function addAskingOptions(command: Command): void {
  command
    .option('--max-examples <n>', 'only the first examples of the seeded order', parseCount)
    .option('--samples <n>', 'completions of each example, for pass@k (1)', parseCount)
    .option('--concurrency <n>', 'requests in flight (64)', parseCount)
    .option('--agent-concurrency <n>', 'examples of several turns at a time (8)', parseCount)
    .option('--temperature <t>', "0 is greedy (the benchmark's)", parseNumber)
    .option('--top-p <p>', "(the benchmark's)", parseNumber)
    .option(
      '--max-tokens <n>',
      "tokens a completion may have (the model's, else the benchmark's)",
      parseCount,
    )
    .option('--context-window <n>', "tokens of prompt and completion together (the model's)", parseCount)
    .option(
      '--timeout <seconds>',
      'time one example may take (300, or 1800 for models that reason)',
      parseNumber,
    )
    .option(
      '--budget <limits>',
      'what each benchmark may use of the model: tokens=N,requests=N,dollars=N,dollarsPerMillionTokens=N',
      parseLimits,
    )
    .option('--system-prompt <text>', "in place of the benchmark's")
    .option('--plugins <file>', 'plug-in file with benchmarks')
    .option('--set <key=value>', 'any option by its name in the library; may be repeated', repeated);
  addJudgeOptions(command);
  addSpellings(command);
}

/** What other tools call an option is answered with what it is called here. */
function addSpellings(command: Command): void {
  for (const [spelling, answer] of ANSWERS) {
    const refused = new Option(`--${spelling} [value]`)
      .hideHelp()
      // Without a value it is refused too.
      .preset('')
      .argParser((): never => {
        throw new DomainError('bad-config', answer);
      });
    command.addOption(refused);
  }
}

/** As workers know it, of a benchmark or of a task. Names of a plug-in file are known to the worker that loads it. */
export function canonicalName({ plugins }: EvalFlags): (name: string) => string {
  return (name) => {
    const task = absoluteInspectName(name, process.cwd());
    if (task !== null) return task;
    const plain = name.replaceAll('-', '_');
    if (CATALOGUE_NAMES.has(plain)) return plain;
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed; most names do not need the catalogue itself
    const { lookUpName } = require('./eval-names') as typeof EvalNames;
    return lookUpName(name, plugins);
  };
}

/** The same of several; all that are unknown are told at once. */
export function canonicalNames(names: readonly string[], flags: EvalFlags): string[] {
  const unknown = new UnknownBenchmarks();
  const nameOf = canonicalName(flags);
  const known = names.flatMap((name) => {
    try {
      return [nameOf(name)];
    } catch (error) {
      unknown.note(error);
      return [];
    }
  });
  unknown.refuse();
  return known;
}

export function optionsFrom(flags: EvalFlags): EvaluateOptions {
  const { samples, timeout, run, output, answersFrom, set = [] } = flags;
  const written: Record<string, unknown> = {};
  for (const key of SAME_NAME) if (flags[key] !== undefined) written[key] = flags[key];
  if (samples !== undefined) written['numSamples'] = samples;
  if (timeout !== undefined) written['timeoutSeconds'] = timeout;
  const judges = judgesFrom(flags);
  if (judges) written['judge'] = judges;
  refuseTwice(written, set);
  applyOverrides(written, set);
  const config = parseBenchmarkConfig(written);
  return {
    ...config,
    ...(run !== undefined && { run }),
    ...(output !== undefined && { output }),
    ...(answersFrom !== undefined && { answersFrom }),
  };
}

/** Which of the two was meant only the person knows. */
function refuseTwice(written: Readonly<Record<string, unknown>>, set: readonly string[]): void {
  for (const override of set) {
    const key = override.split('=', 1).join('').trim();
    const option = otherSpelling(key);
    if (option !== null)
      throw new DomainError('bad-config', `--set ${override}: "${key}" is ${option} here.`);
    const given = writtenAt(written, key);
    if (given === undefined) continue;
    throw new DomainError(
      'bad-config',
      `--set ${override}: ${key} is given twice, as ${JSON.stringify(given)} by its option too. Leave one out.`,
    );
  }
}

/** By a key with dots for inner keys. */
function writtenAt(written: unknown, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? Reflect.get(value, name)
          : undefined,
      written,
    );
}

const SAME_NAME = [
  'model',
  'endpoint',
  'api',
  'checkpoint',
  'engine',
  'renderer',
  'maxExamples',
  'concurrency',
  'agentConcurrency',
  'temperature',
  'topP',
  'maxTokens',
  'contextWindow',
  'budget',
  'systemPrompt',
  'plugins',
] as const satisfies readonly (keyof EvalFlags)[];

function parseNumber(text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number) && number >= 0) return number;
  throw new InvalidArgumentError('Give a number, 0 or more.');
}

/** `tokens=1e6,requests=500`; which limits there are the config knows. */
/** Given several times, the option says all of its limits together. */
function parseLimits(
  text: string,
  previous: Readonly<Record<string, number>> = {},
): Readonly<Record<string, number>> {
  const limits = new Map(Object.entries(previous));
  for (const part of text.split(',')) {
    const [, name, value = ''] = /^\s*(\w+)\s*=\s*(\S+)\s*$/.exec(part) ?? [];
    if (name === undefined || !Number.isFinite(Number(value)))
      throw new InvalidArgumentError('Give limits such as tokens=1e6,requests=500.');
    const before = limits.get(name);
    if (before !== undefined)
      throw new InvalidArgumentError(
        `"${name}" is given twice, as ${before} and as ${value}. Leave one out.`,
      );
    limits.set(name, Number(value));
  }
  return Object.fromEntries(limits);
}
