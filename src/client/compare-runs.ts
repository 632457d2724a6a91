import { DomainError } from '../core/errors';
import type {
  CommonPoint,
  CurvePoint,
  PointAtTokens,
  StepsAtTokens,
  TokensAtStep,
} from '../core/metrics/metric-curve';
import {
  bestPoint,
  commonPoints,
  isHigherBetter,
  pointAtTokens,
  stepsAtEqualTokens,
} from '../core/metrics/metric-curve';
import { namePattern } from '../core/metrics/name-pattern';
import { METRIC_KEYS } from '../core/metrics/metric-keys';
import type { MetricsRow, RunStatus, ScoreRow } from '../core/run';
import { compareMany } from '../evaluation/compare/compare-results';
import type { ComparisonReport } from '../evaluation/compare/comparison';
import type { ConfigDifference } from './config-differences';
import { configDifferences } from './config-differences';
import { storedConfig } from './require-same-config';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import { isClosed } from './run-report';
import type { RunReport } from './run-report';
import type { Known } from './known-options';
import { requireKnownOptions } from './known-options';

export interface CompareRunsOptions {
  /** Metrics of `metrics.jsonl` and keys of `scores.jsonl`, `*` for any part of a name; default: what both are watched by, and every score that says which way is better. */
  readonly metrics?: readonly string[];
  /** So many common steps of each metric at most, evenly spread; default 6. */
  readonly points?: number;
}

const OPTIONS: Known<CompareRunsOptions> = { metrics: true, points: true };

export interface ComparedRun {
  readonly run: string;
  readonly status: RunStatus;
  readonly step: number;
  readonly totalSteps: number;
  readonly kind: string;
  readonly model: string;
}

export interface ComparedCurve {
  readonly last: CurvePoint;
  /** null where nobody knows which way is better. */
  readonly best: CurvePoint | null;
}

/** One metric of two runs, value by value: a curve of one run carries no significance. */
export interface MetricComparison {
  readonly metric: string;
  readonly higherIsBetter: boolean | null;
  readonly a: ComparedCurve;
  readonly b: ComparedCurve;
  /** At steps that both have; differences are A − B. */
  readonly points: readonly CommonPoint[];
  /** Where both had read as many tokens; null where they read the same step by step. */
  readonly atTokens: PointAtTokens | null;
}

/** Two training runs beside each other. */
export interface RunComparison {
  readonly a: ComparedRun;
  readonly b: ComparedRun;
  readonly metrics: readonly MetricComparison[];
  /** Their last evaluations paired by example, as `compareMany` does; null where nothing could be paired, as `remarks` say. */
  readonly evaluations: ComparisonReport | null;
  readonly config: readonly ConfigDifference[];
  /** What a reader must know before believing the numbers. */
  readonly remarks: readonly string[];
}

interface CompareSources extends RunSources {
  readonly store: string;
}

interface ReadRun {
  readonly report: RunReport;
  readonly config: object | null;
  readonly curves: ReadonlyMap<string, MetricCurve>;
  readonly tokens: readonly TokensAtStep[];
}

interface MetricCurve {
  readonly points: readonly CurvePoint[];
  readonly higherIsBetter: boolean | null;
  readonly isScore: boolean;
}

const POINTS = 6;
/** What a kind of training is watched by. */
const WATCHED = ['train/nll', 'env/all/reward/total', 'env/all/correct'];
/** Nothing to pair is an answer; a store that cannot be read is not. */
const NOT_COMPARABLE = new Set(['bad-config', 'unknown-run', 'bad-dataset']);
const CURVES_SAY =
  'Each curve is of one run with one seed: it carries no significance. Only evaluations paired by example have p-values, and they speak of these two runs, not of what their configs do on average; for that, repeat both with other seeds.';

/**
 * Compares two training runs: metrics step by step, their last evaluations by example, and their configs.
 *
 * Works for ended runs and those under way, with the server or without. Throws `unknown-run` where the store has no such run,
 * `bad-config` for a metric that the two do not share.
 */
export async function compareRuns(
  sources: CompareSources,
  [first, second]: readonly [string, string],
  options: CompareRunsOptions = {},
): Promise<RunComparison> {
  requireKnownOptions('runs.compare', options, OPTIONS);
  const { metrics, points = POINTS } = options;
  if (first === second) {
    throw new DomainError(
      'bad-config',
      `"${first}" is compared with itself. Name two runs; two steps of one run are compared with: everstep compare ${first}@0 ${first}`,
    );
  }
  const [a, b] = [await readRun(sources, first), await readRun(sources, second)];
  const names = chosenMetrics(a, b, metrics);
  const evaluations = await evaluationsOf(sources, first, second);
  const equalTokens = stepsAtEqualTokens(a.tokens, b.tokens);
  const config = a.config && b.config ? configDifferences(a.config, b.config) : [];
  return {
    a: factsOf(a),
    b: factsOf(b),
    metrics: names.map((metric) => compareMetric(metric, [a, b], { most: points, equalTokens })),
    evaluations: evaluations.report,
    config,
    remarks: [...remarksOf(a, b, names), ...evaluations.remarks],
  };
}

async function readRun(sources: RunSources, run: string): Promise<ReadRun> {
  const handle = new RunHandle(run, sources);
  const report = await handle.status();
  const [rows, scores, config] = await Promise.all([
    handle.metrics(),
    handle.scores(),
    storedConfig(sources.records, run),
  ]);
  return {
    ...{ report, config },
    curves: new Map([...metricCurves(rows), ...scoreCurves(scores)]),
    tokens: tokensOf(rows),
  };
}

function metricCurves(rows: readonly MetricsRow[]): [string, MetricCurve][] {
  const curves = new Map<string, CurvePoint[]>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      if (name === 'step') continue;
      const points = curves.get(name) ?? [];
      if (value !== null) points.push({ step: row.step, value });
      curves.set(name, points);
    }
  }
  return [...curves].map(([name, points]) => [
    name,
    { points, higherIsBetter: isHigherBetter(name), isScore: false },
  ]);
}

/** A step that several schedules asked for has one score. */
function scoreCurves(scores: readonly ScoreRow[]): [string, MetricCurve][] {
  const curves = new Map<string, { values: Map<number, number>; higherIsBetter: boolean | null }>();
  for (const { key, step, value, higherIsBetter } of scores) {
    if (value === null) continue;
    const curve = curves.get(key) ?? { values: new Map<number, number>(), higherIsBetter };
    curve.values.set(step, value);
    curves.set(key, curve);
  }
  return [...curves].map(([key, { values, higherIsBetter }]) => {
    const points = [...values].map(([step, value]) => ({ step, value }));
    points.sort((left, right) => left.step - right.step);
    return [key, { points, higherIsBetter, isScore: true }];
  });
}

function tokensOf(rows: readonly MetricsRow[]): TokensAtStep[] {
  let tokens = 0;
  return rows.flatMap((row) => {
    const read = row[METRIC_KEYS.tokens];
    if (typeof read !== 'number') return [];
    tokens += read;
    return [{ step: row.step, tokens }];
  });
}

function chosenMetrics(a: ReadRun, b: ReadRun, asked: readonly string[] | undefined): string[] {
  const shared = [...a.curves].flatMap(([name, { points }]) =>
    points.length > 0 && (b.curves.get(name)?.points.length ?? 0) > 0 ? [name] : [],
  );
  if (asked === undefined) return shared.filter((name) => WATCHED.includes(name) || isRatedScore(a, name));
  const found = asked.map((pattern) => shared.filter((name) => namePattern(pattern).test(name)));
  const lacking = asked.find((_, index) => found[index]?.length === 0);
  if (lacking === undefined) return [...new Set(found.flat())];
  const [runA, runB] = [a.report.run, b.report.run];
  const only = [a, b].find(({ curves }) =>
    [...curves.keys()].some((name) => namePattern(lacking).test(name)),
  );
  const where = only ? `only ${only.report.run} has` : 'neither run has';
  throw new DomainError(
    'bad-config',
    `--metric: ${where} "${lacking}". ${runA} and ${runB} share: ${shared.length === 0 ? 'none' : shared.sort().join(', ')}.`,
  );
}

function isRatedScore({ curves }: ReadRun, name: string): boolean {
  const curve = curves.get(name);
  return curve !== undefined && curve.isScore && curve.higherIsBetter !== null;
}

interface ComparedPlaces {
  /** So many common steps. */
  readonly most: number;
  /** The same for all metrics. */
  readonly equalTokens: StepsAtTokens | null;
}

function compareMetric(
  metric: string,
  [a, b]: readonly [ReadRun, ReadRun],
  { most, equalTokens }: ComparedPlaces,
): MetricComparison {
  const [curveA, curveB] = [a.curves.get(metric), b.curves.get(metric)];
  const pointsA = curveA?.points ?? [];
  const pointsB = curveB?.points ?? [];
  const higherIsBetter = curveA?.higherIsBetter ?? curveB?.higherIsBetter ?? null;
  return {
    ...{ metric, higherIsBetter },
    a: { last: lastOf(pointsA), best: bestPoint(pointsA, higherIsBetter) },
    b: { last: lastOf(pointsB), best: bestPoint(pointsB, higherIsBetter) },
    points: commonPoints(pointsA, pointsB, most),
    atTokens: equalTokens && pointAtTokens(pointsA, pointsB, equalTokens),
  };
}

function lastOf(points: readonly CurvePoint[]): CurvePoint {
  const last = points.at(-1);
  if (last) return last;
  throw new Error('Only metrics with a value on both sides are compared.');
}

function factsOf({ report: { run, status, step, totalSteps, kind, model } }: ReadRun): ComparedRun {
  return { run, status, step, totalSteps, kind, model };
}

async function evaluationsOf({ store }: CompareSources, first: string, second: string) {
  try {
    const report = await compareMany([first, second], { store });
    const [a, b] = report.places.map(({ folder }) => /(?<!\d)\d+$/.exec(folder)?.[0]);
    const isOtherStep = a !== b;
    return {
      report,
      remarks: isOtherStep
        ? [
            `Evaluated last: ${first} at step ${a ?? '?'}, ${second} at step ${b ?? '?'}. Other steps are compared with: everstep compare ${first}@STEP ${second}@STEP`,
          ]
        : [],
    };
  } catch (error) {
    if (!(error instanceof DomainError) || !NOT_COMPARABLE.has(error.code)) throw error;
    return { report: null, remarks: [`No evaluations could be paired: ${error.message}`] };
  }
}

function remarksOf(a: ReadRun, b: ReadRun, names: readonly string[]): string[] {
  const open = [a, b].filter(({ report }) => !isClosed(report));
  return [
    ...open.map(
      ({ report: { run, step, totalSteps } }) =>
        `${run} has not ended (step ${step} of ${totalSteps}): its last values are not its final ones.`,
    ),
    ...(a.report.model === b.report.model
      ? []
      : ['They train other models: nll and tokens may count other pieces of text.']),
    ...(names.length === 0 ? [nothingShared(a, b)] : [CURVES_SAY]),
  ];
}

function nothingShared(a: ReadRun, b: ReadRun): string {
  const namesOf = ({ curves }: ReadRun) =>
    curves.size === 0 ? 'none' : [...curves.keys()].sort().join(', ');
  return `They share no metric to compare by itself. ${a.report.run} has ${namesOf(a)}; ${b.report.run} has ${namesOf(b)}. Choose with --metric, or give both the same evaluators.`;
}
