import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { DEEPEST_JSON, isDeeperThan } from '../core/json-depth';
import { isValidName, validateName } from '../core/names';
import { deleteFolder } from './delete-folder';
import { listBenchmarks } from './eval-places';
import type { StoredResult, StoredTrajectory, SummaryEntry, TrajectoryFilter } from './eval-store';
import {
  benchmarkFolder,
  loadResult,
  loadSummary,
  loadTrajectories,
  streamTrajectories,
  writeSummary,
} from './eval-store';
import { isRecord } from './json-lines';
import { createWholeFile, readJsonIfThere, writeJson } from './whole-file';

/** `metadata.json` of an eval run. */
export interface EvalRunMetadata {
  readonly run_id: string;
  readonly model_name: string;
  readonly checkpoint_path: string | null;
  readonly checkpoint_name: string | null;
  readonly benchmarks: readonly string[];
  /** ISO time at which it was created. */
  readonly timestamp: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** By benchmark; what is not finished has none. */
  readonly scores: Readonly<Record<string, number>>;
}

export interface NewEvalRun {
  readonly modelName: string;
  readonly checkpointPath?: string;
  readonly checkpointName?: string;
  readonly benchmarks?: readonly string[];
  readonly config?: Readonly<Record<string, unknown>>;
  /** Else `<checkpoint name or "base">_<date>_<time>_<6 hex digits>`. */
  readonly runId?: string;
  /** Take a run of this id as it is, if there is one, instead of refusing. */
  readonly resume?: boolean;
}

/**
 * Eval runs of a store. The folders are the truth; no index can be out of step with them.
 *
 * ```
 * <root>/evals/<run>/metadata.json
 * <root>/evals/<run>/summary.json
 * <root>/evals/<run>/<benchmark>/result.json, trajectories.jsonl
 * ```
 */
export class EvalStore {
  constructor(readonly root: string) {}

  /** Creates the run's folder and returns the run's id. */
  async createRun(run: NewEvalRun): Promise<string> {
    const { modelName, checkpointPath = null, checkpointName = null, benchmarks = [], config = {} } = run;
    const timestamp = new Date().toISOString();
    const runId = run.runId ?? generateId(checkpointName ?? 'base', timestamp);
    const metadata: EvalRunMetadata = {
      run_id: runId,
      model_name: modelName,
      checkpoint_path: checkpointPath,
      checkpoint_name: checkpointName,
      benchmarks,
      timestamp,
      config,
      scores: {},
    };
    const isNew = await createWholeFile(this.metadataFile(runId), `${JSON.stringify(metadata, null, 2)}\n`);
    if (isNew || run.resume) return runId;
    throw new DomainError(
      'run-exists',
      `Eval run "${runId}" is already in ${this.root}. Choose another name, or resume it.`,
    );
  }

  /** The folder of a run, whether it exists or not. */
  runDir(runId: string): string {
    return join(this.root, 'evals', validateName('Eval run', runId));
  }

  /** Puts the scores there are into the metadata and writes the summary. May be done again after more benchmarks. */
  async finalizeRun(runId: string): Promise<EvalRunMetadata> {
    const metadata = await this.readRun(runId);
    const results = await this.results(runId);
    const scores = Object.fromEntries(results.map(({ name, score }) => [name, score]));
    const benchmarks = [...new Set([...metadata.benchmarks, ...Object.keys(scores)])];
    const final = { ...metadata, benchmarks, scores };
    await writeSummary(this.runDir(runId), results);
    await writeJson(this.metadataFile(runId), final);
    return final;
  }

  /** Newest first. Folders that hold neither metadata nor a result are passed over. */
  async listRuns(): Promise<EvalRunMetadata[]> {
    const runs = await Promise.all((await this.runIds()).map((runId) => this.describe(runId)));
    return runs
      .filter((run) => run !== null)
      .sort((left, right) => compare(right.timestamp, left.timestamp) || compare(left.run_id, right.run_id));
  }

  /** Folders that hold a benchmark, but neither metadata nor a result that can be read: what is known of them is their names. */
  async listUndescribed(): Promise<EvalRunMetadata[]> {
    const runs = await Promise.all(
      (await this.runIds()).map(async (runId) => ((await this.describe(runId)) ? [] : this.nameOnly(runId))),
    );
    return runs.flat();
  }

  /** Throws `unknown-run` where there is none. */
  async readRun(runId: string): Promise<EvalRunMetadata> {
    const run = await this.describe(runId);
    if (run) return run;
    throw new DomainError(
      'unknown-run',
      `Eval run "${runId}" is not in ${this.root}. List the eval runs there are with: everstep results list`,
    );
  }

  /** Benchmarks that have a result. */
  async listBenchmarks(runId: string): Promise<readonly string[]> {
    return (await listBenchmarks(this.runDir(runId))).finished;
  }

  readResult(runId: string, benchmark: string): Promise<StoredResult | null> {
    return loadResult(this.runDir(runId), benchmark);
  }

  readTrajectories(
    runId: string,
    benchmark: string,
    filter: TrajectoryFilter = {},
  ): Promise<StoredTrajectory[]> {
    return loadTrajectories(this.runDir(runId), benchmark, filter);
  }

  /** null where there is none of this `idx`. Reads the file up to it. */
  async readTrajectory(runId: string, benchmark: string, idx: number): Promise<StoredTrajectory | null> {
    for (const trajectory of streamTrajectories(benchmarkFolder(this.runDir(runId), benchmark))) {
      if (trajectory.idx === idx) return trajectory;
    }
    return null;
  }

  readSummary(runId: string): Promise<Record<string, SummaryEntry> | null> {
    return loadSummary(this.runDir(runId));
  }

  /** Scores by benchmark, from the results as they are now. */
  async scores(runId: string): Promise<Record<string, number>> {
    return Object.fromEntries((await this.results(runId)).map(({ name, score }) => [name, score]));
  }

  /** False where there is none. */
  async deleteRun(runId: string): Promise<boolean> {
    return deleteFolder(this.root, 'evals', basename(this.runDir(runId)));
  }

  private async results(runId: string): Promise<StoredResult[]> {
    const finished = await this.listBenchmarks(runId);
    const results = await Promise.all(finished.map((benchmark) => this.readResult(runId, benchmark)));
    return results.filter((result) => result !== null);
  }

  /** What another program put here may lack metadata; its results tell as much. */
  private async describe(runId: string): Promise<EvalRunMetadata | null> {
    const metadata = await readJsonIfThere<EvalRunMetadata>(this.metadataFile(runId));
    if (metadata?.run_id === runId && hasItsTypes(metadata)) return metadata;
    const results = await this.results(runId);
    const [first] = results;
    if (!first) return null;
    return {
      run_id: runId,
      model_name: first.identity.model,
      checkpoint_path: first.identity.checkpoint || null,
      checkpoint_name: null,
      benchmarks: results.map(({ name }) => name),
      timestamp: '',
      config: {},
      scores: Object.fromEntries(results.map(({ name, score }) => [name, score])),
    };
  }

  private async nameOnly(runId: string): Promise<EvalRunMetadata[]> {
    const { finished, unfinished, cells } = await listBenchmarks(this.runDir(runId));
    const benchmarks = [...finished, ...unfinished];
    if (benchmarks.length === 0 && cells.length === 0) return [];
    const unknown = { model_name: '', checkpoint_path: null, checkpoint_name: null, timestamp: '' };
    return [{ run_id: runId, benchmarks, config: {}, scores: {}, ...unknown }];
  }

  private async runIds(): Promise<string[]> {
    try {
      const entries = await readdir(join(this.root, 'evals'), { withFileTypes: true });
      // A folder of another name was not made by a store, and could not be asked for.
      return entries
        .filter((entry) => entry.isDirectory() && isValidName(entry.name))
        .map(({ name }) => name);
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return [];
      throw error;
    }
  }

  private metadataFile(runId: string): string {
    return join(this.runDir(runId), 'metadata.json');
  }
}

function generateId(checkpointName: string, timestamp: string): string {
  const [date = '', time = ''] = timestamp.split('T');
  const seconds = time.slice(0, 8).replaceAll(':', '');
  // A checkpoint may be named by its URI.
  const words = checkpointName.split(/[^A-Za-z0-9_-]+/).filter((word) => /^[A-Za-z0-9]/.test(word));
  const name = words.join('-').slice(0, 60) || 'base';
  return `${name}_${date.replaceAll('-', '')}_${seconds}_${randomUUID().slice(0, 6)}`;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

/** Whether what lies in a `metadata.json` can be shown and sorted: people copy and edit such files. */
function hasItsTypes(metadata: EvalRunMetadata): boolean {
  if (isDeeperThan(metadata, DEEPEST_JSON)) return false;
  const { model_name, timestamp, checkpoint_path, checkpoint_name, benchmarks, scores, config } = metadata;
  const texts: readonly unknown[] = [model_name, timestamp, checkpoint_path ?? '', checkpoint_name ?? ''];
  return (
    Array.isArray(benchmarks) &&
    texts.every((text) => typeof text === 'string') &&
    benchmarks.every((name) => typeof name === 'string') &&
    [scores, config].every((each) => isRecord(each)) &&
    Object.values<unknown>(scores).every((score) => score === null || typeof score === 'number')
  );
}
