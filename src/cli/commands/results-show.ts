import path from 'node:path';
import { DomainError } from '../../core/errors';
import type { CellScore } from '../../core/run';
import { summaryOf } from '../../evaluation/runner/summary-of';
import { readCellScores } from '../../evaluation/stored-cell';
import type { EvalPlace } from '../../stores/eval-places';
import { listBenchmarks, locateResults } from '../../stores/eval-places';
import type { StoredResult } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import { evaluatedStepOf } from '../../stores/evaluated-step';
import { printCellScores } from './cell-scores';
import { escapeControls } from '../escape-controls';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { printTable } from '../tables';
import type { Unfinished } from '../unfinished-benchmarks';
import { explainUnfinished, unfinishedText } from '../unfinished-benchmarks';

const HEADING = [
  ...['benchmark', 'score ± stderr [95 %]', 'completed only', 'samples', 'completed', 'errors', 'truncated'],
  ...['pass@k', 'seconds'],
];

interface Asked {
  /** What a person calls the results. */
  readonly text: string;
  readonly store: string;
  readonly flags: PlaceFlags;
}

/** One place's benchmarks: counts, scores, and what they were made of. */
export async function showResults(output: Output, { text, store, flags }: Asked): Promise<void> {
  const place = await locateResults(text, store);
  const { finished, unfinished, cells } = await listBenchmarks(place.folder);
  const meant = meantIn(place, finished);
  const results = await Promise.all(meant.map((name) => readResult(place.folder, name)));
  const explained = await explainUnfinished(place.folder, unfinished, flags);
  const { waiting, failed } = explained;
  const evaluators = await readEvaluators(place, cells);
  if (results.length === 0 && evaluators.length === 0) refuseEmpty(place, explained);
  output.document({
    run: place.label,
    dir: place.folder,
    benchmarks: results.map(resultDocument),
    ...(evaluators.length > 0 && { evaluators }),
    unfinished,
    ...(waiting.length > 0 && { waiting }),
    ...(failed.length > 0 && { failed }),
  });
  output.line(escapeControls(place.folder));
  printScores(output, results, evaluators);
  if (unfinished.length > 0) output.line(escapeControls(output.advice(unfinishedText(explained))));
}

function printScores(
  output: Output,
  results: readonly StoredResult[],
  evaluators: readonly EvaluatorScores[],
): void {
  if (results.length > 0) printTable(output, HEADING, results.map(resultCells));
  for (const result of results) {
    output.line(escapeControls(`${result.name}: ${identityText(result)}`));
    for (const text of originTexts(result)) output.line(escapeControls(`${result.name}: ${text}`));
  }
  const scores = evaluators.flatMap((evaluator) => evaluator.scores);
  if (scores.length > 0) printCellScores(output, scores);
}

async function readResult(folder: string, name: string): Promise<StoredResult> {
  const result = await loadResult(folder, name);
  if (result) return result;
  throw unreadable(`${folder}/${name}/result.json`);
}

function unreadable(file: string): DomainError {
  return new DomainError('bad-dataset', `${file} cannot be read. Evaluate again to write it anew.`);
}

function meantIn({ benchmark }: EvalPlace, names: readonly string[]): string[] {
  return names.filter((name) => benchmark === null || name === benchmark);
}

interface EvaluatorScores {
  readonly evaluator: string;
  readonly scores: readonly CellScore[];
}

/** Of evaluators that are no benchmarks: losses of data sets, scores of plug-ins. */
async function readEvaluators(place: EvalPlace, cells: readonly string[]): Promise<EvaluatorScores[]> {
  const { folder } = place;
  const meant = meantIn(place, cells);
  return Promise.all(
    meant.map(async (evaluator) => {
      const scores = await readCellScores(path.join(folder, evaluator));
      if (scores !== null) return { evaluator, scores };
      throw unreadable(path.join(folder, evaluator, 'cell.json'));
    }),
  );
}

function refuseEmpty({ folder }: EvalPlace, parts: Unfinished): never {
  const remedy =
    parts.unfinished.length === 0
      ? 'Name a folder that holds <benchmark>/result.json.'
      : `${unfinishedText(parts)} ${remedyForUnfinished(folder, parts)}`;
  throw new DomainError('bad-config', `${folder} has no results. ${remedy}`);
}

function remedyForUnfinished(folder: string, { unfinished, failed }: Unfinished): string {
  const step = evaluatedStepOf(folder);
  if (step) return `How far they are: everstep runs evaluations ${step.run}`;
  const wait =
    unfinished.length === failed.length
      ? 'Give'
      : 'Wait for its end (results list says how far it is), or give';
  return `${wait} the command that began it again.`;
}

function resultDocument(result: StoredResult) {
  return { ...summaryOf(result), metrics: result.metrics, identity: result.identity };
}

function resultCells(result: StoredResult): string[] {
  const passes = Object.entries(result.pass_at_k).map(([k, value]) => `@${k} ${formatNumber(value)}`);
  return [
    result.name,
    scoreText(result),
    result.score_completed === null ? '–' : formatNumber(result.score_completed),
    String(result.num_examples),
    String(result.num_completed),
    String(result.num_errors),
    String(result.num_truncated),
    passes.join(' ') || '–',
    result.time_seconds.toFixed(1),
  ];
}

function scoreText({ score, stderr, ci }: StoredResult): string {
  const spread = stderr === null ? '' : ` ± ${formatNumber(stderr)}`;
  const interval = ci === null ? '' : ` [${ci.map(formatNumber).join(', ')}]`;
  return `${formatNumber(score)}${spread}${interval}`;
}

/** Where answers and judgements come from, where that is not one evaluation. */
function originTexts({ regraded = [], answers }: StoredResult): string[] {
  return [
    ...(answers ? [`${answers.taken} answers taken from ${answers.folder}`] : []),
    ...regraded.map(({ at, grader, before }) => {
      const score = before.score === null ? 'no score' : formatNumber(before.score);
      const kept = before.folder === null ? '' : `, kept in ${before.folder}`;
      return `graded again at ${at} by ${grader}; before: ${score} by ${before.grader}${kept}`;
    }),
  ];
}

function identityText({ identity }: StoredResult): string {
  if (identity.dataHash === '' && identity.graderVersion === '') return 'says not how it was made';
  const { benchmarkVersion, dataHash, promptHash, graderVersion, sampling, model, checkpoint } = identity;
  return [
    `version ${benchmarkVersion}`,
    `data ${dataHash.slice(0, 12)}`,
    `prompt ${promptHash.slice(0, 12)}`,
    `grader ${graderVersion}`,
    `sampling ${JSON.stringify(sampling)}`,
    `model ${model}`,
    `checkpoint ${checkpoint}`,
  ].join(', ');
}
