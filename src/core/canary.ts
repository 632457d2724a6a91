import type { BenchmarkRequest, ModelSource } from './benchmark-run';

/**
 * A canary asks a model the same benchmarks again and again, and alarms when the score moves. Plain JSON: it travels through
 * schedules and workflow history.
 */

/** What the score is held against. */
export type CanaryPin =
  /** The first firing that scores everything without errors. */
  { readonly type: 'first' } | { readonly type: 'scores'; readonly scores: Readonly<Record<string, number>> };

/** How far a score may move by chance. */
export interface CanaryBand {
  /** `test`: of the difference on the same examples. `noise-floor`: of two runs of the pinned model, from its samples of each example. */
  readonly type: 'test' | 'noise-floor';
  /** Share of firings of an unchanged model that stay within. */
  readonly level: number;
}

/** Where an alarm is told. No secrets: what is secret is named by an environment variable of the workers. */
export interface CanaryWebhook {
  readonly url: { readonly type: 'address' | 'variable'; readonly value: string };
  /** Name of the header → name of the variable that holds its value. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One schedule of canary evaluations. */
export interface CanaryRequest {
  readonly name: string;
  /** Absolute folder of all runs. */
  readonly store: string;
  readonly benchmarks: readonly string[];
  readonly model: ModelSource;
  /** How every benchmark is asked. */
  readonly asking: Omit<BenchmarkRequest, 'run' | 'folder' | 'benchmark' | 'model'>;
  readonly pin: CanaryPin;
  readonly band: CanaryBand;
  /** A firing without a score after this long has failed, so that the next one can begin. */
  readonly deadlineSeconds: number;
  readonly webhook?: CanaryWebhook;
}

/** One time a schedule fired. */
export interface CanaryFiring {
  /** The time it was due, ISO. */
  readonly at: string;
  /** Eval run that holds its results. */
  readonly evalRun: string;
}

export type CanaryVerdict =
  /** What later firings are held against. */
  | 'pinned'
  | 'steady'
  | 'better'
  | 'worse'
  /** The benchmark, its data or how it was asked is not what it was when the score was pinned. */
  | 'changed'
  | 'failed'
  /** Scored, but nothing is pinned yet because examples failed. */
  | 'unpinned';

/** One benchmark of one firing. */
export interface CanaryScore {
  readonly benchmark: string;
  readonly score: number | null;
  readonly stderr: number | null;
  /** 95 %. */
  readonly interval: readonly [low: number, high: number] | null;
  readonly numExamples: number;
  readonly numErrors: number;
  readonly pinned: number | null;
  /** Score − pinned, on the examples compared. */
  readonly difference: number | null;
  /** How it was held against the pin. */
  readonly method: 'paired' | 'noise-floor' | 'interval' | null;
  readonly verdict: CanaryVerdict;
  /** The verdict in words. */
  readonly reason: string;
}

/** What a firing came to: a row of `firings.jsonl`. */
export interface CanaryReport extends CanaryFiring {
  readonly schedule: string;
  /** Folder of the results. */
  readonly dir: string;
  readonly alarm: boolean;
  readonly scores: readonly CanaryScore[];
}

/** One try to tell an alarm's webhook: a row of `webhooks.jsonl`. */
export interface WebhookTry extends CanaryFiring {
  readonly attempt: number;
  readonly told: boolean;
  /** Why not; null where it was told. */
  readonly reason: string | null;
}

/** What came of telling the webhook of one firing's alarm. */
export interface WebhookOutcome extends CanaryFiring {
  readonly told: boolean;
  /** Tries that were made, with those whose worker was killed, which leave no row. */
  readonly tries: number;
  /** Why the last one failed; null where it was told. */
  readonly reason: string | null;
}

/** By firing, oldest first. */
export function webhookOutcomes(tries: readonly WebhookTry[]): WebhookOutcome[] {
  const byFiring = new Map<string, WebhookOutcome>();
  for (const { at, evalRun, attempt, told, reason } of tries) {
    const before = byFiring.get(evalRun);
    const isTold = told || (before?.told ?? false);
    byFiring.set(evalRun, {
      ...{ at, evalRun, told: isTold, tries: Math.max(before?.tries ?? 0, attempt) },
      reason: isTold ? null : reason,
    });
  }
  return [...byFiring.values()].sort((left, right) => left.at.localeCompare(right.at));
}

/** What happened to one benchmark of a firing. */
export interface CanaryOutcome {
  readonly benchmark: string;
  /** Why it has no score; null where it has one. */
  readonly failure: string | null;
}

const ALARMING: ReadonlySet<CanaryVerdict> = new Set<CanaryVerdict>(['better', 'worse', 'changed', 'failed']);

export function isAlarming({ verdict }: Pick<CanaryScore, 'verdict'>): boolean {
  return ALARMING.has(verdict);
}

/** `20261121T220000Z`: sorts by time, and is part of a name. */
export function firingOf(name: string, due: Date): CanaryFiring {
  const at = due.toISOString();
  const compact = at.slice(0, 19).replaceAll(/[-:]/g, '');
  return { at: `${at.slice(0, 19)}Z`, evalRun: `${name}-${compact}Z` };
}

/** For journals: a later firing outranks every attempt of an earlier one. */
export function firingEpoch({ at }: CanaryFiring, attempt: number): number {
  const ATTEMPTS = 100_000;
  return Math.floor(Date.parse(at) / 1000) * ATTEMPTS + Math.min(attempt, ATTEMPTS - 1);
}

export function canaryFolder({ store, name }: Pick<CanaryRequest, 'store' | 'name'>): string {
  return `${store}/schedules/${name}`;
}

/** What `runBenchmark` is asked at one firing. */
export function firingRequest(
  { store, model, asking }: CanaryRequest,
  { evalRun }: CanaryFiring,
  benchmark: string,
): BenchmarkRequest {
  return { ...asking, run: evalRun, folder: `${store}/evals/${evalRun}`, benchmark, model };
}

/** Alarms in one line each, for logs and messages. */
export function alarmLines({ scores }: Pick<CanaryReport, 'scores'>): string[] {
  return scores.filter(isAlarming).map(({ benchmark, reason }) => `${benchmark}: ${reason}`);
}
