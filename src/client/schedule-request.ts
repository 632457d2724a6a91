import path from 'node:path';
import type { BenchmarkConfig, BenchmarkOptions } from '../config/benchmark-config';
import { parseBenchmarkConfig } from '../config/benchmark-config';
import { readEnvironment } from '../config/environment';
import type { CanaryBand, CanaryPin, CanaryRequest, CanaryWebhook } from '../core/canary';
import { isRefusedWebhookHeader, isWebhookVariable, refuseWebhookAddress } from '../core/canary-webhook';
import { secondsOf } from '../core/duration';
import { DomainError } from '../core/errors';
import { secretParameterOf } from '../core/secret-parameters';
import type { ModelSource } from '../core/benchmark-run';
import { validateName } from '../core/names';
import { CATALOGUE_NAMES } from '../evaluation/benchmarks/catalogue-names';
import { askingOf } from './eval-requests';
import { findSource } from './eval-source';
import { findJudges } from './judge-sources';
import type { RunRecords } from './run-records';
import { unknownRun } from './unknown-run';

/** How often a schedule fires: one of the two. */
interface Cadence {
  /** E.g. `30m`, `6h`, `1d`. */
  readonly every?: string | undefined;
  /** Five fields, or e.g. `@daily`. */
  readonly cron?: string | undefined;
  /** Time zone of `cron`, e.g. `Europe/Berlin`; default UTC. */
  readonly timezone?: string | undefined;
}

/** What a schedule asks, how often, and when it alarms; see `BenchmarkConfig` for how it asks. */
export interface CanaryOptions extends BenchmarkOptions, Cadence {
  readonly benchmarks: string | readonly string[];
  /** `first`: the first firing that scores everything (default). Else the score, by benchmark where there are several. */
  readonly pin?: 'first' | number | Readonly<Record<string, number>> | undefined;
  /** Share of firings of an unchanged model that do not alarm, or `noise-floor`; default 0.95. */
  readonly band?: number | 'noise-floor' | undefined;
  /** A firing without a score after this long has failed; default the time between firings, an hour at least and a day at most. */
  readonly deadline?: string | undefined;
  /** Where alarms are posted: an http or https address, or `env:EVERSTEP_WEBHOOK_…` for one that is secret. */
  readonly webhook?: string | undefined;
  /** Headers of the webhook: name → `EVERSTEP_WEBHOOK_…` variable of the workers. */
  readonly webhookHeaders?: Readonly<Record<string, string>> | undefined;
  /** Holds `<benchmark>/data.jsonl`; default EVERSTEP_DATA_DIR. */
  readonly dataFolder?: string | undefined;
}

/** A cadence that was checked. */
export type CheckedCadence =
  { readonly everySeconds: number } | { readonly cron: string; readonly timezone: string | null };

export interface PreparedSchedule {
  readonly request: CanaryRequest;
  readonly cadence: CheckedCadence;
}

const MOST_NAME = 80;
const LEAST_SECONDS = 10;
/** Of a year, a leap day among them. */
const MOST_DAYS = 366;
const LEVEL = 0.95;
const HOUR_SECONDS = 3600;
const DAY_SECONDS = 86_400;
const ENVIRONMENT = 'env:';

/** Everything a firing needs, frozen now: a run's newest checkpoint stays the one it was. */
export async function prepareSchedule(
  name: string,
  options: CanaryOptions,
  { records, store }: { readonly records: RunRecords; readonly store: string },
): Promise<PreparedSchedule> {
  const { benchmarks: named, every, cron, timezone, pin, band, deadline, ...rest } = options;
  const { webhook, webhookHeaders, dataFolder, ...written } = rest;
  refuseBucket(store);
  const benchmarks = benchmarksOf(named);
  const config = parseBenchmarkConfig(written);
  const cadence = checkCadence({ every, cron, timezone });
  const told = webhookOf(webhook, webhookHeaders);
  const { benchmarkDataFolder } = readEnvironment();
  const { judges } = await findJudges(config, records);
  const request: CanaryRequest = {
    name: scheduleName(name),
    store: path.resolve(store),
    benchmarks,
    model: await sourceOf(config, records),
    asking: askingOf(
      // What a judge said before would hide that it judges otherwise now.
      { config, ...(judges && { judges: judges.map((judge) => ({ ...judge, isFresh: true as const })) }) },
      dataFolder ?? benchmarkDataFolder ?? undefined,
    ),
    pin: pinOf(pin, benchmarks),
    band: bandOf(band, { numSamples: config.numSamples, pin }),
    deadlineSeconds: deadlineOf(deadline, cadence),
    ...(told && { webhook: told }),
  };
  return { request, cadence };
}

/** A run that nobody knows is refused as it is elsewhere. */
async function sourceOf(config: BenchmarkConfig, records: RunRecords): Promise<ModelSource> {
  try {
    return await findSource(config, records);
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'unknown-run') throw error;
    const [run = ''] = (config.checkpoint ?? '').split('@');
    throw (await records.readState(run)) ? error : await unknownRun(run, records);
  }
}

export function scheduleName(name: string): string {
  if (name.length <= MOST_NAME) return validateName('Schedule', name);
  throw new DomainError(
    'bad-config',
    `The schedule's name has ${name.length} characters. Use ${MOST_NAME} at most.`,
  );
}

function benchmarksOf(named: string | readonly string[]): string[] {
  const names = [...new Set([named].flat().map((name) => name.replaceAll('-', '_')))];
  if (names.length > 0) return names.map((name) => validateName('Benchmark', name));
  throw new DomainError('bad-config', 'Name a benchmark. `npx everstep benchmarks list` shows them.');
}

function checkCadence({ every, cron, timezone }: Cadence): CheckedCadence {
  if ((every === undefined) === (cron === undefined)) {
    throw new DomainError(
      'bad-config',
      'Say how often: --every 6h, or --cron "0 */6 * * *". One of the two.',
    );
  }
  if (cron !== undefined) return { cron: checkCron(cron), timezone: timezone ?? null };
  if (timezone !== undefined) {
    throw new DomainError('bad-config', '--timezone goes with --cron. Leave it out.');
  }
  const everySeconds = duration('--every', every ?? '');
  if (everySeconds > MOST_DAYS * DAY_SECONDS) {
    throw new DomainError('bad-config', `--every ${every}: the most is ${MOST_DAYS}d.`);
  }
  if (everySeconds >= LEAST_SECONDS) return { everySeconds };
  throw new DomainError('bad-config', `--every ${every}: the least is ${LEAST_SECONDS}s.`);
}

/** The server reads it; what cannot be one is refused here, in words. */
function checkCron(cron: string): string {
  const text = cron.trim();
  const fieldCount = text.split(/\s+/).length;
  if (text.length <= 200 && (/^@[a-z]+$/i.test(text) || (fieldCount >= 5 && fieldCount <= 7))) return text;
  throw new DomainError(
    'bad-config',
    `--cron "${text.slice(0, 60)}": give five fields (minute hour day month weekday), e.g. "0 */6 * * *", or @daily.`,
  );
}

function duration(flag: string, text: string): number {
  const seconds = secondsOf(text);
  if (seconds !== null) return seconds;
  throw new DomainError('bad-config', `${flag} ${text}: give a time such as 90s, 30m, 6h or 2d.`);
}

function deadlineOf(deadline: string | undefined, cadence: CheckedCadence): number {
  if (deadline !== undefined) return duration('--deadline', deadline);
  if ('cron' in cadence) return DAY_SECONDS;
  return Math.min(DAY_SECONDS, Math.max(HOUR_SECONDS, cadence.everySeconds));
}

function pinOf(pin: CanaryOptions['pin'], benchmarks: readonly string[]): CanaryPin {
  if (pin === undefined || pin === 'first') return { type: 'first' };
  if (typeof pin === 'number') {
    const [only, ...others] = benchmarks;
    if (others.length > 0 || only === undefined) {
      throw new DomainError('bad-config', `--pin ${pin}: say of which benchmark, e.g. --pin ${only}=${pin}.`);
    }
    return { type: 'scores', scores: checkScores({ [only]: pin }) };
  }
  const scores = Object.fromEntries(
    Object.entries(pin).map(([name, score]) => [name.replaceAll('-', '_'), score]),
  );
  const missing = benchmarks.filter((name) => !Object.hasOwn(scores, name));
  const unknown = Object.keys(scores).filter((name) => !benchmarks.includes(name));
  if (missing.length + unknown.length > 0) {
    const problem = missing.length > 0 ? `none for ${missing.join(', ')}` : `unknown: ${unknown.join(', ')}`;
    throw new DomainError('bad-config', `--pin: give a score for each benchmark (${problem}).`);
  }
  return { type: 'scores', scores: checkScores(scores) };
}

function checkScores(scores: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  for (const [name, score] of Object.entries(scores)) {
    if (!Number.isFinite(score)) throw new DomainError('bad-config', `--pin ${name}: give a number.`);
    if (!isRangeKnown(name) || (score >= 0 && score <= 1)) continue;
    const meant = score > 1 && score <= 100 ? ` ${score} % is ${score / 100}.` : '';
    throw new DomainError(
      'bad-config',
      `--pin ${score}: scores of ${name} lie between 0 and 1.${meant} Give a share.`,
    );
  }
  return scores;
}

/** Scores of the catalogue are shares; those of plug-ins may be anything. */
export function isRangeKnown(benchmark: string): boolean {
  return CATALOGUE_NAMES.has(benchmark);
}

function bandOf(
  band: CanaryOptions['band'],
  { numSamples, pin }: { readonly numSamples: number; readonly pin: CanaryOptions['pin'] },
): CanaryBand {
  if (band !== 'noise-floor') return { type: 'test', level: levelOf(band ?? LEVEL) };
  if (pin !== undefined && pin !== 'first') {
    throw new DomainError(
      'bad-config',
      '--band noise-floor needs the examples of a firing: use --pin-first.',
    );
  }
  if (numSamples >= 2) return { type: 'noise-floor', level: LEVEL };
  throw new DomainError(
    'bad-config',
    '--band noise-floor needs each example asked twice or more: add --samples 2, or give a level such as --band 0.95.',
  );
}

function levelOf(level: number): number {
  if (level >= 0.5 && level < 1) return level;
  throw new DomainError(
    'bad-config',
    `--band ${level}: give a level from 0.5 to below 1, e.g. 0.95, or noise-floor.`,
  );
}

function webhookOf(
  webhook: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): CanaryWebhook | null {
  if (webhook === undefined) {
    if (Object.keys(headers).length === 0) return null;
    throw new DomainError('bad-config', '--webhook-header goes with --webhook. Give the address, too.');
  }
  for (const [name, variable] of Object.entries(headers)) {
    if (isRefusedWebhookHeader(name) || !isWebhookVariable(variable)) throw badHeader(name);
  }
  if (webhook.startsWith(ENVIRONMENT)) {
    const value = webhook.slice(ENVIRONMENT.length);
    if (isWebhookVariable(value)) return { url: { type: 'variable', value }, headers };
    throw new DomainError(
      'bad-config',
      `--webhook ${ENVIRONMENT}NAME: the name begins with EVERSTEP_WEBHOOK_.`,
    );
  }
  refuseSecretIn(webhook);
  const problem = refuseWebhookAddress(webhook);
  if (problem === null) return { url: { type: 'address', value: webhook }, headers };
  throw new DomainError('bad-config', problem);
}

/** In the variable that stands in its place it may have one. */
function refuseSecretIn(webhook: string): void {
  const secret = secretParameterOf(webhook);
  if (secret === null) return;
  throw new DomainError(
    'bad-config',
    `--webhook: the address holds a key (its parameter ${secret}), and schedules are stored. Put the address into a variable of the workers, and give env:EVERSTEP_WEBHOOK_NAME.`,
  );
}

function badHeader(name: string): DomainError {
  return new DomainError(
    'bad-config',
    `--webhook-header ${name.slice(0, 60)}: write HEADER=EVERSTEP_WEBHOOK_NAME, with a header that is not the request's own (Host, Content-Length …). Schedules are stored, so the value stands in that variable where the workers run.`,
  );
}

function refuseBucket(store: string): void {
  if (!store.includes('://')) return;
  throw new DomainError(
    'bad-config',
    `The store ${store} holds no results of benchmarks. Use one on a disk.`,
  );
}
