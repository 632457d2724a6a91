import { userInfo } from 'node:os';
import path from 'node:path';
import { DomainError } from '../core/errors';
import { SANDBOX_CHOICES } from '../core/sandbox-choice';
import type { SandboxChoice } from '../core/sandbox-choice';
import { stripEnd } from '../core/strip-ends';
import { usualStore } from './remembered-store';

/** Everything the program takes from environment variables, read once at the edge and passed on as plain values. */
export interface Environment {
  /** State of the stack: server database, logs, records (`--data-dir`, EVERSTEP_HOME, else `.everstep`). */
  readonly dataFolder: string;
  /** Runs and scores (`--store`, EVERSTEP_STORE, else the store that the last stack here was given, else `<data>/store`): an absolute folder, or a URL such as `s3://…`. */
  readonly store: string;
  /** Benchmark data put there by hand (EVERSTEP_DATA_DIR), before the hub is asked. */
  readonly benchmarkDataFolder: string | null;
  /** TINKER_BASE_URL and TINKER_API_KEY. */
  readonly engineUrl: string | null;
  readonly engineApiKey: string | null;
  readonly openaiApiKey: string | null;
  /** EVERSTEP_JUDGE_API_KEY: for endpoints of judges, where it is another. */
  readonly judgeApiKey: string | null;
  readonly huggingFaceToken: string | null;
  /** HF_ENDPOINT: a mirror of the Hugging Face hub. */
  readonly huggingFaceUrl: string | null;
  /** EVERSTEP_TEMPORAL_CLI: the Temporal CLI to use instead of looking for one. */
  readonly temporalCli: string | null;
  /** EVERSTEP_DEPLOYMENT and EVERSTEP_BUILD_ID: the release a worker belongs to. */
  readonly deployment: string | null;
  readonly buildId: string | null;
  /** EVERSTEP_SERVE_TOKEN: what clients of `everstep serve` have to show. */
  readonly serveToken: string | null;
  /** EVERSTEP_PLUGIN_FOLDERS: where workers take plug-in files from that runs name, besides the folder they are started in. */
  readonly pluginFolders: readonly string[];
  /** EVERSTEP_KEY_ADDRESSES: addresses that workers send keys to, besides the services they were started with. */
  readonly keyAddresses: readonly string[];
  /** EVERSTEP_INSPECT_MODELS: models that are none of a service, which roles of Inspect AI may have workers load. */
  readonly inspectModels: readonly string[];
  /** EVERSTEP_SANDBOX: where code of models runs; default the best that works here. */
  readonly sandbox: SandboxChoice;
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
  refuseEmpty('--data-dir', options.dataDir);
  refuseEmpty('--store', options.store);
  const dataFolder = path.resolve(options.dataDir ?? value('EVERSTEP_HOME') ?? '.everstep');
  const benchmarkData = value('EVERSTEP_DATA_DIR');
  return {
    dataFolder,
    store: resolveStore(options.store ?? value('EVERSTEP_STORE') ?? usualStore(dataFolder)),
    benchmarkDataFolder: benchmarkData === null ? null : path.resolve(benchmarkData),
    engineUrl: value('TINKER_BASE_URL'),
    engineApiKey: value('TINKER_API_KEY'),
    openaiApiKey: value('OPENAI_API_KEY'),
    judgeApiKey: value('EVERSTEP_JUDGE_API_KEY'),
    huggingFaceToken: value('HF_TOKEN'),
    huggingFaceUrl: readAddress('HF_ENDPOINT', value('HF_ENDPOINT')),
    temporalCli: value('EVERSTEP_TEMPORAL_CLI'),
    deployment: value('EVERSTEP_DEPLOYMENT'),
    buildId: value('EVERSTEP_BUILD_ID'),
    serveToken: value('EVERSTEP_SERVE_TOKEN'),
    pluginFolders: listed(value('EVERSTEP_PLUGIN_FOLDERS'), path.delimiter),
    keyAddresses: readAddresses('EVERSTEP_KEY_ADDRESSES', value('EVERSTEP_KEY_ADDRESSES')),
    inspectModels: listed(value('EVERSTEP_INSPECT_MODELS'), ','),
    sandbox: readSandbox(value('EVERSTEP_SANDBOX')),
    // Programs there are run, so it lies in no folder that a command happens to be given in.
    cacheFolder: path.join(
      value('XDG_CACHE_HOME') ?? path.join(value('HOME') ?? homeOfUser(), '.cache'),
      'everstep',
    ),
    logLevel: readLogLevel(value('EVERSTEP_LOG_LEVEL')),
  };
}

/** A user of a container may have none. */
function homeOfUser(): string {
  try {
    return userInfo().homedir;
  } catch {
    return path.sep;
  }
}

/** The variables a process started by us gets: ours, changed by `changes`; null removes one. */
export function childVariables(changes: Readonly<Record<string, string | null>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...process.env, ...changes })) {
    if (value != null) result[name] = value;
  }
  return result;
}

/** Every service a stack starts gets those of these that it needs. */
const SECRETS = {
  engine: [],
  temporal: [],
  worker: ['TINKER_API_KEY', 'OPENAI_API_KEY', 'EVERSTEP_JUDGE_API_KEY', 'HF_TOKEN'],
} as const;
const SECRET =
  /^(TINKER_API_KEY|OPENAI_API_KEY|EVERSTEP_JUDGE_API_KEY|HF_TOKEN|EVERSTEP_SERVE_TOKEN|EVERSTEP_WEBHOOK_\w+)$/;

/** For `childVariables`: takes away the secrets of ours that a service does not need. Only evaluations send webhooks. */
export function withheldFrom(
  service: keyof typeof SECRETS,
  { sendsWebhooks = false }: { readonly sendsWebhooks?: boolean } = {},
  variables: Variables = process.env,
): Record<string, null> {
  const needed: readonly string[] = SECRETS[service];
  const withheld = Object.keys(variables).filter(
    (name) =>
      SECRET.test(name) && !needed.includes(name) && !(sendsWebhooks && name.startsWith('EVERSTEP_WEBHOOK_')),
  );
  return Object.fromEntries(withheld.map((name) => [name, null]));
}

/** What a program of others gets of our variables: what it needs to run and to reach the network, and no secret. */
export function plainVariables(variables: Variables = process.env): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of PLAIN_VARIABLES) {
    const value = variables[name] ?? variables[name.toLowerCase()];
    if (value !== undefined && value !== '') result[name] = value;
  }
  return { ...result, NO_PROXY: ['127.0.0.1', 'localhost', result['NO_PROXY']].filter(Boolean).join(',') };
}

const PLAIN_VARIABLES = [
  ...['PATH', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'HF_ENDPOINT', 'DOCKER_HOST'],
];

/** Those of our variables that are named and set. */
export function namedVariables(
  names: readonly string[],
  variables: Variables = process.env,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = variables[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** Names among our variables that begin with `prefix`. */
export function variableNames(prefix: string): string[] {
  return Object.keys(process.env).filter((name) => name.startsWith(prefix));
}

/** As of `--store "$UNSET"`: the current folder would be meant by nobody. */
/** Whether a person says where runs are, so that nobody else's word counts. */
export function isStoreSaid(options: PlaceOptions, variables: Variables = process.env): boolean {
  return options.store !== undefined || Boolean(variables['EVERSTEP_STORE']?.trim());
}

function refuseEmpty(flag: string, text: string | undefined): void {
  if (text?.trim() === '')
    throw new DomainError('bad-config', `${flag} is empty. Name a folder, or leave ${flag} out.`);
}

function resolveStore(store: string): string {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(store) ? store : path.resolve(store);
}

function readAddress(name: string, text: string | null): string | null {
  if (text === null || /^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : ''))
    return text === null ? null : stripEnd(text, '/');
  throw new DomainError('bad-config', `${name} is "${text}". Give a URL such as https://huggingface.co.`);
}

function listed(text: string | null, separator: string): string[] {
  return (text ?? '').split(separator).flatMap((part) => part.trim() || []);
}

function readAddresses(name: string, text: string | null): string[] {
  return listed(text, ',').flatMap((part) => readAddress(name, part) ?? []);
}

function readSandbox(text: string | null): SandboxChoice {
  if (text === null) return 'auto';
  const choice = SANDBOX_CHOICES.find((known) => known === text.toLowerCase());
  if (choice) return choice;
  throw new DomainError(
    'bad-config',
    `EVERSTEP_SANDBOX is "${text}". Use one of ${SANDBOX_CHOICES.join(', ')}.`,
  );
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
