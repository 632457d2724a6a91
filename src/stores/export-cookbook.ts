import { appendFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import type { ScoreRow } from '../core/run';
import { readEvalMetadata } from './eval-metadata';
import { listBenchmarks } from './eval-places';
import type { EvalRunMetadata } from './eval-run-store';
import type { StoredResult, StoredTrajectory } from './eval-store';
import { benchmarkFolder, loadResult, streamTrajectories, writeSummary } from './eval-store';
import { evaluatedStepOf } from './evaluated-step';
import { isScoreRow } from './run-rows';
import { readStepRows } from './step-rows';
import { temporaryName, writeJson, writeWholeFile } from './whole-file';

/*
 * Results as every loader of tinker-cookbook takes them. Its `load_result` refuses a `result.json` with keys it does not
 * know, and ours has some: they move to `config.everstep` of `metadata.json`, which its stores keep and do not read.
 *
 * One eval run, for `load_result`, `load_trajectories` and `load_summary`:
 *
 *     <output>/metadata.json  summary.json  <benchmark>/result.json  <benchmark>/trajectories.jsonl
 *
 * A store of eval runs, for its `EvalStore`; each run folder is one as above:
 *
 *     <output>/runs.jsonl  runs/<run>/…
 */

export interface CookbookExport {
  readonly output: string;
  /** Names of the runs that were written. */
  readonly runs: readonly string[];
  readonly benchmarkCount: number;
  /** Lines of trajectories that could not be read and were left out. */
  readonly malformedCount: number;
}

interface WrittenRun {
  readonly metadata: EvalRunMetadata;
  readonly benchmarkCount: number;
  readonly malformedCount: number;
}

/** Lines held in memory at a time. */
const LINES_AT_ONCE = 500;

/** `folder` holds benchmarks, or eval runs. `output` must not be there yet; it appears when it is whole. */
export async function exportForCookbook(folder: string, output: string): Promise<CookbookExport> {
  await refuseExisting(output);
  const building = temporaryName(output);
  try {
    const written = await writeAll(folder, building);
    await rename(building, output);
    return {
      output,
      runs: written.map(({ metadata }) => metadata.run_id),
      benchmarkCount: sum(written.map(({ benchmarkCount }) => benchmarkCount)),
      malformedCount: sum(written.map(({ malformedCount }) => malformedCount)),
    };
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

async function writeAll(folder: string, building: string): Promise<WrittenRun[]> {
  if ((await listBenchmarks(folder)).finished.length > 0) return [await writeRun(folder, building)];
  const runs = await findRuns(folder);
  if (runs.length === 0) {
    throw new DomainError(
      'bad-config',
      `${folder} has no finished benchmark and no eval run with one. Name the folder of an eval run, or one that holds eval runs.`,
    );
  }
  const written: WrittenRun[] = [];
  for (const run of runs) written.push(await writeRun(run, join(building, 'runs', runIdOf(run))));
  await writeWholeFile(
    join(building, 'runs.jsonl'),
    written.map(({ metadata }) => indexLine(metadata)).join(''),
  );
  return written;
}

/** Folders of eval runs: those in a store, else those right here. */
async function findRuns(folder: string): Promise<string[]> {
  for (const holder of [join(folder, 'evals'), folder]) {
    const found: string[] = [];
    for (const name of await subfolders(holder)) {
      if ((await listBenchmarks(join(holder, name))).finished.length > 0) found.push(join(holder, name));
    }
    if (found.length > 0) return found;
  }
  return [];
}

async function writeRun(folder: string, target: string): Promise<WrittenRun> {
  const { finished } = await listBenchmarks(folder);
  const results: StoredResult[] = [];
  let malformedCount = 0;
  for (const benchmark of finished) {
    const result = await loadResult(folder, benchmark);
    if (!result) continue;
    const place = benchmarkFolder(target, benchmark);
    malformedCount += await writeTrajectories(benchmarkFolder(folder, benchmark), place);
    await writeJson(join(place, 'result.json'), theirResult(result));
    results.push(result);
  }
  await writeSummary(target, results);
  const known = await readEvalMetadata(folder);
  const metadata = metadataOf(folder, known ?? (await describeStep(folder, finished)), results);
  await writeJson(join(target, 'metadata.json'), metadata);
  return { metadata, benchmarkCount: results.length, malformedCount };
}

async function writeTrajectories(from: string, to: string): Promise<number> {
  const path = join(to, 'trajectories.jsonl');
  await mkdir(dirname(path), { recursive: true });
  await writeWholeFile(path, '');
  let malformedCount = 0;
  let lines: string[] = [];
  const onMalformed = () => (malformedCount += 1);
  for (const trajectory of streamTrajectories(from, { onMalformed })) {
    lines.push(`${JSON.stringify(theirTrajectory(trajectory))}\n`);
    if (lines.length < LINES_AT_ONCE) continue;
    await appendFile(path, lines.join(''));
    lines = [];
  }
  await appendFile(path, lines.join(''));
  return malformedCount;
}

function theirResult(result: StoredResult) {
  const { name, score, num_examples, num_correct, num_errors, num_truncated } = result;
  const { metrics, time_seconds, pass_at_k } = result;
  return {
    name,
    score,
    num_examples,
    num_correct,
    num_errors,
    num_truncated,
    metrics,
    time_seconds,
    pass_at_k,
  };
}

function theirTrajectory(trajectory: StoredTrajectory) {
  const { idx, benchmark, example_id, turns, reward, metrics, logs, error, time_seconds } = trajectory;
  return { idx, benchmark, example_id, turns, reward, metrics, logs, error, time_seconds };
}

/** The number of a step alone would not say of which run. */
function runIdOf(folder: string): string {
  const place = evaluatedStepOf(folder);
  return place ? `${place.run}@${place.step}` : basename(resolve(folder));
}

/** Results of a training run's step have no metadata of their own: what is known of them stands in the run's rows. */
async function describeStep(
  folder: string,
  benchmarks: readonly string[],
): Promise<Partial<EvalRunMetadata> | null> {
  const place = evaluatedStepOf(folder);
  if (!place) return null;
  const rows = await readStepRows<ScoreRow>(join(place.runFolder, 'scores.jsonl'), { steps: [place.step] });
  const names = new Set(benchmarks);
  const scored = rows.filter((row) => isScoreRow(row) && names.has(row.evaluator));
  return {
    checkpoint_name: runIdOf(folder),
    timestamp:
      scored
        .map(({ at }) => at)
        .sort()
        .at(-1) ?? '',
  };
}

function metadataOf(
  folder: string,
  known: Partial<EvalRunMetadata> | null,
  results: readonly StoredResult[],
): EvalRunMetadata {
  const identity = results[0]?.identity;
  const ours = results.map(({ name, stderr, ci, score_completed, num_completed, identity }) => [
    name,
    { stderr, ci, score_completed, num_completed, identity },
  ]);
  return {
    checkpoint_path: null,
    timestamp: '',
    model_name: identity?.model ?? '',
    checkpoint_name: identity?.checkpoint ?? null,
    ...known,
    run_id: runIdOf(folder),
    benchmarks: results.map(({ name }) => name),
    config: { ...known?.config, everstep: Object.fromEntries(ours) },
    scores: Object.fromEntries(results.map(({ name, score }) => [name, score])),
  };
}

function indexLine({ run_id, timestamp, model_name, checkpoint_name }: EvalRunMetadata): string {
  return `${JSON.stringify({ run_id, timestamp, model: model_name, checkpoint: checkpoint_name })}\n`;
}

async function refuseExisting(output: string): Promise<void> {
  try {
    await readdir(output);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return;
    if (!hasErrorCode(error, 'ENOTDIR')) throw error;
  }
  throw new DomainError(
    'bad-config',
    `${output} exists already. Remove it or give another name with --output.`,
  );
}

async function subfolders(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
