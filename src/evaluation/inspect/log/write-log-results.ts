import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../../../core/errors';
import { meanInterval, withinUnit } from '../../../core/statistics/mean-interval';
import { passAtK } from '../../../core/statistics/pass-at-k';
import { passHatK } from '../../../core/statistics/pass-hat-k';
import { Z_95, wilsonInterval } from '../../../core/statistics/wilson-interval';
import type { ResultIdentity, StoredResult, StoredTrajectory } from '../../../stores/eval-store';
import { makeFolderOf } from '../../../stores/make-folder';
import { asStoreError } from '../../../stores/system-errors';
import { temporaryName, writeJson } from '../../../stores/whole-file';
import type { JudgedSamples } from '../../runner/pass-rates';
import { passRates } from '../../runner/pass-rates';
import { labelledScores, mainMetricOf, mainScoreOf } from './log-metrics';
import type { LoggedSample, LogHeader } from './log-schema';
import { trajectoryOfSample, truncationOf } from './log-trajectory';
import type { InspectLog } from './read-log';

export interface LogResultTask {
  readonly name: string;
  /** Gets `trajectories.jsonl` and `result.json`. */
  readonly folder: string;
  readonly identity: ResultIdentity;
  /** Throws where these results must not be written any more. */
  readonly verify?: () => void;
}

/** How far two means of the same numbers may lie apart. */
const ROUNDING = 1e-9;

/**
 * A log as files of our own. `score` is the metric as Inspect gives it, which leaves out samples that ended in an error or
 * are unscored; `num_errors` says how many ended so.
 */
export async function writeLogResults(log: InspectLog, task: LogResultTask): Promise<StoredResult> {
  const counts = await writeTrajectories(log, task);
  const result = resultOf(log.header, counts, task);
  task.verify?.();
  await writeJson(join(task.folder, 'result.json'), result);
  return result;
}

class Counts {
  examples = 0;
  correct = 0;
  errors = 0;
  truncated = 0;
  scored = 0;
  /** Every sample lies from 0 to 1. */
  isWithinUnit = true;
  private isBinary = true;
  /** By example, where each was drawn several times. */
  private readonly draws = new Map<string, JudgedSamples>();

  /** Of samples that are right or wrong, each drawn as often as any other; else null. */
  get proportion(): number | null {
    return this.isBinary && this.scored > 0 ? this.correct / this.scored : null;
  }

  /** Examples that were scored, where each was drawn several times; 0 where each was drawn once. */
  get exampleCount(): number {
    return this.draws.size;
  }

  /** Unbiased, over the examples of which so many draws were scored; empty where scores are not right or wrong. */
  passRates(rateOf: typeof passAtK, epochs: number): Readonly<Record<string, number>> {
    return epochs > 1 && this.isBinary ? passRates([...this.draws.values()], epochs, rateOf) : {};
  }

  add(trajectory: StoredTrajectory): void {
    const { metrics, reward, error } = trajectory;
    this.examples += 1;
    this.correct += metrics['correct'] ?? 0;
    this.scored += Number(metrics['correct'] !== undefined);
    this.isBinary &&= reward === 0 || reward === 1;
    this.isWithinUnit &&= reward >= 0 && reward <= 1;
    this.addDraw(trajectory);
    this.errors += Number(error !== null);
  }

  private addDraw({ example_id: id, sample_index: draw, metrics }: StoredTrajectory): void {
    const correct = metrics['correct'];
    if (draw === undefined || correct === undefined) return;
    const before = this.draws.get(id) ?? { count: 0, correct: 0 };
    this.draws.set(id, { count: before.count + 1, correct: before.correct + correct });
  }
}

async function writeTrajectories(log: InspectLog, { name, folder, verify }: LogResultTask): Promise<Counts> {
  const counts = new Counts();
  const path = join(folder, 'trajectories.jsonl');
  const temporary = temporaryName(path);
  await makeFolderOf(path);
  try {
    const file = await open(temporary, 'w');
    try {
      for await (const line of linesOf(log, name, counts)) await file.write(line);
      await file.sync();
    } finally {
      await file.close();
    }
    verify?.();
    await rename(temporary, path);
    return counts;
  } catch (error) {
    await rm(temporary, { force: true });
    throw asStoreError(error, path);
  }
}

async function* linesOf(log: InspectLog, name: string, counts: Counts): AsyncGenerator<string> {
  const { header } = log;
  const score = mainScoreOf(header.results);
  const main = score && { scorer: score.scorer ?? score.name, part: score.name };
  const hasEpochs = (header.eval.config.epochs ?? 1) > 1;
  const known = new Set<string>();
  for await (const sample of log.samples()) {
    requireFirst(sample, known, log.path);
    const trajectory = trajectoryOfSample(sample, {
      benchmark: name,
      index: counts.examples,
      hasEpochs,
      main,
    });
    counts.add(trajectory);
    counts.truncated += Number(trajectory.error === null && truncationOf(sample) !== null);
    yield `${JSON.stringify(trajectory)}\n`;
  }
}

/** Inspect itself refuses a dataset in which two samples have one id. */
function requireFirst({ id, epoch }: LoggedSample, known: Set<string>, path: string): void {
  const key = JSON.stringify([String(id), epoch]);
  if (known.has(key)) {
    throw new DomainError(
      'bad-dataset',
      `${path}: sample ${JSON.stringify(id)} of epoch ${epoch} is in it twice, and would count twice. Correct the log.`,
    );
  }
  known.add(key);
}

function resultOf(header: LogHeader, counts: Counts, { name, identity }: LogResultTask): StoredResult {
  const { results } = header;
  const { value: score = null, stderr = null } = mainMetricOf(results) ?? {};
  const unscored = mainScoreOf(results)?.unscored_samples ?? 0;
  const epochs = header.eval.config.epochs ?? 1;
  const allCorrect = Object.entries(counts.passRates(passHatK, epochs)).map(
    ([k, rate]) => [`pass_hat_k/${k}`, rate] as const,
  );
  return {
    name,
    score: score ?? 0,
    stderr,
    ci: intervalOf(score, stderr, counts),
    score_completed: score,
    num_examples: counts.examples,
    num_completed: counts.examples - counts.errors - counts.truncated,
    num_correct: counts.correct,
    num_errors: counts.errors,
    num_truncated: counts.truncated,
    metrics: {
      ...metricsOf(header),
      ...Object.fromEntries(allCorrect),
      ...(unscored > 0 && { unscored }),
    },
    time_seconds: secondsOf(header),
    pass_at_k: counts.passRates(passAtK, epochs),
    identity,
  };
}

/** From its start to its end, as results of our own have it: samples run beside each other. */
function secondsOf({ stats }: LogHeader): number {
  const seconds = (Date.parse(stats?.completed_at ?? '') - Date.parse(stats?.started_at ?? '')) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

/** As that of our own results: Wilson's for right or wrong, several draws of an example hang together. */
function intervalOf(score: number | null, stderr: number | null, counts: Counts): StoredResult['ci'] {
  if (score === null || stderr === null) return null;
  const { proportion } = counts;
  const isProportion = proportion !== null && Math.abs(proportion - score) < ROUNDING;
  if (isProportion && counts.exampleCount === 0) return wilsonInterval(counts.correct, counts.scored);
  if (isProportion) {
    const { exampleCount: clusterCount } = counts;
    return meanInterval({ mean: score, standardError: stderr, clusterCount, isBinary: true });
  }
  const interval = [score - Z_95 * stderr, score + Z_95 * stderr] as const;
  // A metric of the task's own may count otherwise, e.g. in percent.
  const isShare = counts.isWithinUnit && score >= 0 && score <= 1;
  return isShare ? withinUnit(interval) : interval;
}

/** By its own name after the main scorer, `scorer/metric` after any other. */
function metricsOf({ results }: LogHeader): Record<string, number> {
  const entries = labelledScores(results).flatMap(({ score, label }) =>
    Object.entries(score.metrics).flatMap(([metric, { value }]) =>
      value == null ? [] : [[label === null ? metric : `${label}/${metric}`, value] as const],
    ),
  );
  return Object.fromEntries(entries);
}
