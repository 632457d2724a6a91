import { readFileSync } from 'node:fs';
import path from 'node:path';
import { DomainError } from '../core/errors';

/** Everything the program takes from environment variables, read once at the edge and passed on as plain values. */
export interface Environment {
  /** State of the stack: server database, logs, records (`--data-dir`, EVERSTEP_HOME, else `.everstep`). */
  readonly dataFolder: string;
  /** Runs and scores (`--store`, EVERSTEP_STORE, else the store of the last stack here, else `<data>/store`): an absolute folder, or a URL such as `s3://…`. */
  readonly store: string;
  /** Benchmark data put there by hand (EVERSTEP_DATA_DIR), before the hub is asked. */
  readonly benchmarkDataFolder: string | null;
  /** TINKER_BASE_URL and TINKER_API_KEY. */
  readonly engineUrl: string | null;
  readonly engineApiKey: string | null;
  readonly openaiApiKey: string | null;
  readonly huggingFaceToken: string | null;
  /** EVERSTEP_TEMPORAL_CLI: the Temporal CLI to use instead of looking for one. */
  readonly temporalCli: string | null;
  /** EVERSTEP_DEPLOYMENT and EVERSTEP_BUILD_ID: the release a worker belongs to. */
  readonly deployment: string | null;
  readonly buildId: string | null;
  /** Where downloaded and built programs are kept. */
  readonly cacheFolder: string;
  readonly logLevel: LogLevel;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What the command line says; it goes before the environment. */
export interface PlaceOptions {
  readonly dataDir?: string | undefined;
  readonly store?: string | undefined;
}

export type Variables = Readonly<Record<string, string | undefined>>;

export function readEnvironment(options: PlaceOptions = {}, variables: Variables = process.env): Environment {
  const value = (name: string): string | null => variables[name]?.trim() || null;
  const dataFolder = path.resolve(options.dataDir ?? value('EVERSTEP_HOME') ?? '.everstep');
  const benchmarkData = value('EVERSTEP_DATA_DIR');
  return {
    dataFolder,
    store: resolveStore(options.store ?? value('EVERSTEP_STORE') ?? usualStore(dataFolder)),
    benchmarkDataFolder: benchmarkData === null ? null : path.resolve(benchmarkData),
    engineUrl: value('TINKER_BASE_URL'),
    engineApiKey: value('TINKER_API_KEY'),
    openaiApiKey: value('OPENAI_API_KEY'),
    huggingFaceToken: value('HF_TOKEN'),
    temporalCli: value('EVERSTEP_TEMPORAL_CLI'),
    deployment: value('EVERSTEP_DEPLOYMENT'),
    buildId: value('EVERSTEP_BUILD_ID'),
    cacheFolder: path.join(value('XDG_CACHE_HOME') ?? path.join(value('HOME') ?? '.', '.cache'), 'everstep'),
    logLevel: readLogLevel(value('EVERSTEP_LOG_LEVEL')),
  };
}

/** The variables a process started by us gets: ours, changed by `changes`; null removes one. */
export function childVariables(changes: Readonly<Record<string, string | null>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...process.env, ...changes })) {
    if (value != null) result[name] = value;
  }
  return result;
}

/** Names among our variables that begin with `prefix`. */
export function variableNames(prefix: string): string[] {
  return Object.keys(process.env).filter((name) => name.startsWith(prefix));
}

/** A stack that was given another store keeps it: its runs are there. */
function usualStore(dataFolder: string): string {
  return recordedStore(path.join(dataFolder, 'stack.json')) ?? path.join(dataFolder, 'store');
}

function recordedStore(file: string): string | null {
  try {
    const record: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const store = typeof record === 'object' && record !== null && 'store' in record ? record.store : null;
    return typeof store === 'string' && store !== '' ? store : null;
  } catch {
    return null;
  }
}

function resolveStore(store: string): string {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(store) ? store : path.resolve(store);
}

function readLogLevel(text: string | null): LogLevel {
  if (text === null) return 'info';
  const level = LOG_LEVELS.find((known) => known === text.toLowerCase());
  if (level) return level;
  throw new DomainError(
    'bad-config',
    `EVERSTEP_LOG_LEVEL is "${text}". Use one of ${LOG_LEVELS.join(', ')}.`,
  );
}
