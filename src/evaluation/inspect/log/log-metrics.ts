import { stripEnds } from '../../../core/strip-ends';
import type { CellScore } from '../../../core/run';
import type { StoredResult } from '../../../stores/eval-store';
import type { LoggedScore, LogHeader } from './log-schema';

/** Say how sure a score is, and are none themselves. */
const SPREAD = new Set(['stderr', 'bootstrap_stderr', 'std', 'var']);
const MEANS = ['accuracy', 'mean'];

/** A log, and what its task is called among those of one evaluation. */
export interface NamedLog {
  readonly name: string;
  readonly header: LogHeader;
  /** 95 % interval of the main metric, where there is one. */
  readonly ci?: StoredResult['ci'];
}

/** What a log gives a name to: its dataset, or its task where the dataset has none. */
function datasetNameOf({ eval: spec }: LogHeader): string {
  const name = spec.dataset.name?.trim();
  return plainName(name ? name : spec.task);
}

/**
 * Metrics of logs as scores, named `dataset/metric` after the first scorer and `dataset/scorer/metric` after any other. Two logs of
 * one dataset are told apart by their tasks.
 */
export function scoresOfLogs(logs: readonly NamedLog[]): CellScore[] {
  return logs.flatMap((log) => {
    const { header, name } = log;
    const dataset = datasetNameOf(header);
    const fellows = logs.filter((other) => datasetNameOf(other.header) === dataset);
    if (fellows.length === 1) return scoresOfLog(log, dataset);
    const task = plainName(header.eval.task);
    const isAlone = fellows.filter((other) => plainName(other.header.eval.task) === task).length === 1;
    return scoresOfLog(log, `${dataset}/${isAlone ? task : name}`);
  });
}

function scoresOfLog({ header: { results }, ci }: NamedLog, name: string): CellScore[] {
  const metric = `${name}/${plainName(mainMetricOf(results)?.name ?? '')}`;
  return labelledScores(results)
    .flatMap(({ score, label }) =>
      scoresOfScorer(score, label === null ? name : `${name}/${plainName(label)}`),
    )
    .map((score) => (ci && score.metric === metric ? { ...score, ci } : score));
}

/** Each scorer by its name, and its reducer where that is not the usual one; null for the main one. */
export function labelledScores(
  results: LogHeader['results'],
): { readonly score: LoggedScore; readonly label: string | null }[] {
  const main = mainScoreOf(results);
  return (results?.scores ?? []).map((score) => ({ score, label: score === main ? null : labelOf(score) }));
}

/** The scorer that stands for the task: the one that its author chose, else the first. */
export function mainScoreOf(results: LogHeader['results']): LoggedScore | null {
  const scores = results?.scores ?? [];
  const { score: name, reducer } = results?.headline ?? {};
  const chosen = scores.find((score) => score.name === name && (score.reducer ?? null) === (reducer ?? null));
  return chosen ?? scores[0] ?? null;
}

function labelOf({ name, reducer }: LoggedScore): string {
  return reducer == null || reducer === 'mean' ? name : `${name}-${reducer}`;
}

function scoresOfScorer({ metrics, scored_samples: scored }: LoggedScore, prefix: string): CellScore[] {
  const stderr = standardErrorOf(metrics);
  return Object.entries(metrics)
    .filter(([name]) => !SPREAD.has(name))
    .map(([name, { value }]) => {
      const metric = `${prefix}/${plainName(name)}`;
      const isMean = MEANS.includes(name);
      return {
        metric,
        key: `test/${metric}`,
        value: value ?? null,
        stderr: isMean ? stderr : null,
        n: scored ?? 0,
        higherIsBetter: name === 'accuracy' ? true : null,
      };
    });
}

function standardErrorOf(metrics: LoggedScore['metrics']): number | null {
  return metrics['stderr']?.value ?? metrics['bootstrap_stderr']?.value ?? null;
}

/** The number that stands for a task; null where it has none. */
export function mainMetricOf(results: LogHeader['results']): MainMetric | null {
  const main = mainScoreOf(results);
  if (!main) return null;
  const { metrics } = main;
  const chosen = results?.headline?.metric;
  const names = [...(chosen == null ? [] : [chosen]), ...MEANS, ...Object.keys(metrics)];
  for (const name of names.filter((each) => !SPREAD.has(each))) {
    const value = metrics[name]?.value;
    if (value != null) return { name, value, stderr: MEANS.includes(name) ? standardErrorOf(metrics) : null };
  }
  return null;
}

interface MainMetric {
  readonly name: string;
  readonly value: number;
  readonly stderr: number | null;
}

/** No scorer, no metric, or nothing that any of them could judge. */
export function isWithoutScore({ results }: LogHeader): boolean {
  return mainMetricOf(results) === null;
}

/** Keys have parts between slashes; a dataset of the hub has one in its name. */
function plainName(name: string): string {
  return stripEnds(name.replace(/[^A-Za-z0-9._-]+/g, '-'), '-') || 'inspect';
}
