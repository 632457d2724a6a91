import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DomainError } from '../../../core/errors';
import { shellWord } from '../../../core/shell-word';
import { readEvalMetadata } from '../../../stores/eval-metadata';
import { listBenchmarks } from '../../../stores/eval-places';
import type { EvalRunMetadata } from '../../../stores/eval-run-store';
import type { StoredResult } from '../../../stores/eval-store';
import { benchmarkFolder, loadResult, streamTrajectories } from '../../../stores/eval-store';
import { temporaryName } from '../../../stores/whole-file';
import type { LogSubject } from './header-document';
import { generateConfig, headerDocument, startDocument } from './header-document';
import { identifierOf } from './identifiers';
import type { SampleContext } from './sample-document';
import { sampleDocument, summaryDocument } from './sample-document';
import { SampleTotals } from './sample-totals';
import { ZipWriter } from './zip-writer';

interface ExportedLog {
  readonly benchmark: string;
  readonly path: string;
  readonly sampleCount: number;
  /** Lines of trajectories that could not be read and were left out. */
  readonly malformedCount: number;
}

interface OwnLogs {
  readonly name: string;
  readonly folder: string;
}

export interface LogExport {
  readonly output: string;
  readonly logs: readonly ExportedLog[];
  /** Tasks that Inspect ran, and the folders of its own logs of them. */
  readonly ranByInspect: readonly OwnLogs[];
  /** Benchmarks without a result yet. */
  readonly unfinished: readonly string[];
}

export interface ExportPlace {
  /** Holds `<benchmark>/result.json`. */
  readonly folder: string;
  /** The only benchmark that is meant; null for all. */
  readonly benchmark: string | null;
}

/**
 * Writes the results of a folder as logs of Inspect AI, one a benchmark, into `output`. Exporting again writes the same files
 * over those that are there.
 */
export async function exportInspectLogs(place: ExportPlace, output: string): Promise<LogExport> {
  const { finished, unfinished } = await listBenchmarks(place.folder);
  const wanted = finished.filter((name) => place.benchmark === null || name === place.benchmark);
  const ranByInspect = await findOwnLogs(place);
  if (wanted.length === 0) {
    const [own] = ranByInspect;
    throw new DomainError(
      'bad-config',
      own
        ? `${place.folder} holds what Inspect ran itself, whose own logs are there already: inspect view --log-dir ${shellWord(own.folder)}`
        : `${place.folder} has no finished benchmark. Name an eval run, RUN@STEP, or a folder that holds <benchmark>/result.json.`,
    );
  }
  await mkdir(output, { recursive: true });
  const logs: ExportedLog[] = [];
  for (const benchmark of wanted) logs.push(await exportLog(place.folder, benchmark, output));
  return { output, logs, ranByInspect, unfinished: place.benchmark === null ? unfinished : [] };
}

async function findOwnLogs({ folder, benchmark }: ExportPlace): Promise<OwnLogs[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return names
    .filter((name) => benchmark === null || name === benchmark)
    .map((name) => ({ name, folder: join(folder, name, 'inspect') }))
    .filter((own) => existsSync(own.folder))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

async function exportLog(folder: string, benchmark: string, output: string): Promise<ExportedLog> {
  const result = await loadResult(folder, benchmark);
  if (!result) throw new DomainError('bad-config', `${folder}/${benchmark}/result.json cannot be read.`);
  const subject = await describe(folder, result);
  const path = join(output, fileName(subject));
  const temporary = temporaryName(path);
  try {
    const counts = await writeLog(temporary, benchmarkFolder(folder, benchmark), subject);
    await rename(temporary, path);
    return { benchmark, path, ...counts };
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeLog(path: string, folder: string, subject: LogSubject) {
  const archive = new ZipWriter(path, new Date(subject.createdAt));
  const totals = new SampleTotals(subject.result);
  const summaries: unknown[] = [];
  let malformedCount = 0;
  const context = contextOf(subject);
  const onMalformed = () => (malformedCount += 1);
  for (const trajectory of streamTrajectories(folder, { onMalformed })) {
    const id = totals.add(trajectory);
    const sample = sampleDocument(trajectory, id, context);
    await archive.add(`samples/${id}_epoch_${sample.epoch}.json`, sample);
    summaries.push(summaryDocument(sample, trajectory.error));
  }
  const header = headerDocument(subject, totals.end());
  await archive.add('_journal/start.json', startDocument(header));
  await archive.add('summaries.json', summaries);
  await archive.add('header.json', header);
  await archive.end();
  return { sampleCount: summaries.length, malformedCount };
}

function contextOf({ logId, model, scorer, createdAt, result }: LogSubject): SampleContext {
  const window = result.identity.sampling['contextWindow'];
  return {
    ...{ logId, model, scorer, startedAt: createdAt, config: generateConfig(result) },
    contextWindow: typeof window === 'number' ? window : null,
  };
}

/** The same results get the same identifiers, wherever they lie. */
async function describe(folder: string, result: StoredResult): Promise<LogSubject> {
  const { run_id: evalRun = basename(folder), ...metadata } = (await readEvalMetadata(folder)) ?? {};
  const startedMs = await startOf(folder, result, metadata);
  const { identity } = result;
  const subject = [evalRun, result.name, identity, result.score];
  return {
    result,
    evalRun,
    logId: identifierOf('eval', ...subject),
    taskId: identifierOf('task', ...subject),
    runId: identifierOf('run', evalRun, metadata.timestamp ?? null),
    model: [identity.model, metadata.model_name].find((name) => name) ?? 'none/none',
    scorer: scorerOf(identity.graderVersion),
    createdAt: timeText(startedMs),
    completedAt: timeText(startedMs + result.time_seconds * 1000),
    config: metadata.config ?? {},
  };
}

async function startOf(
  folder: string,
  { name, time_seconds: seconds }: StoredResult,
  { timestamp = '' }: Partial<EvalRunMetadata>,
): Promise<number> {
  const known = Date.parse(timestamp);
  if (!Number.isNaN(known)) return known;
  const { mtimeMs } = await stat(join(benchmarkFolder(folder, name), 'result.json'));
  return mtimeMs - seconds * 1000;
}

/** `numeric@1` and the like, without the version. */
function scorerOf(graderVersion: string): string {
  return /^[A-Za-z][\w-]*/.exec(graderVersion)?.[0] ?? 'grader';
}

/** As Python writes it, to the second. */
function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, '+00:00');
}

/** Inspect finds task and id in the name, between underscores. */
function fileName({ createdAt, result, taskId }: LogSubject): string {
  const time = createdAt.replace(/[:+]/g, '-');
  return `${time}_${result.name.replaceAll('_', '-')}_${taskId}.eval`;
}
