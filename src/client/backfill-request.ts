import { createHash } from 'node:crypto';
import path from 'node:path';
import type { BenchmarkConfig, BenchmarkOptions } from '../config/benchmark-config';
import { parseBenchmarkConfig } from '../config/benchmark-config';
import { readEnvironment } from '../config/environment';
import { parseJudges } from '../config/judge-config';
import type { BackfillCheckpoint, BackfillRequest } from '../core/backfill';
import { MOST_CELLS, MOST_PARALLEL } from '../core/backfill';
import type { BenchmarkRequest } from '../core/benchmark-run';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { DomainError } from '../core/errors';
import { validateName } from '../core/names';
import type { ChosenCheckpoint } from './backfill-checkpoints';
import { chooseCheckpoints, chooseRuns, parseSteps } from './backfill-checkpoints';
import type { WeightsPlace, WeightsView } from './eval-engine';
import { askingOf, decisiveOf, requestsFor } from './eval-requests';
import { findSource } from './eval-source';
import type { FoundJudges } from './judge-sources';
import { findJudges, placeJudges } from './judge-sources';
import type { RunRecords } from './run-records';

/** Which cells are meant, and how they are asked; see `BenchmarkConfig` for the rest. */
export interface BackfillOptions extends Omit<BenchmarkOptions, 'endpoint' | 'api' | 'checkpoint'> {
  /** Names of runs, or patterns such as `sft-*`. */
  readonly runs: readonly string[];
  readonly benchmarks: readonly string[];
  /** `all`, `last`, `every:N`, or steps such as `100,200`; default all kept checkpoints. */
  readonly steps?: string | undefined;
  /** Cells under way at a time; default 2. */
  readonly parallel?: number | undefined;
  /** Default: the benchmarks and a digest of what is asked, so that the same call goes on. */
  readonly name?: string | undefined;
  /** Holds `<benchmark>/data.jsonl`; default EVERSTEP_DATA_DIR. */
  readonly dataFolder?: string | undefined;
}

const PARALLEL = 2;
const READS_AT_ONCE = 8;
const NAME_LENGTH = 60;
const DIGEST_LENGTH = 8;

/** The matrix that is asked for, as the store is now. */
export async function backfillRequest(
  options: BackfillOptions,
  records: RunRecords,
  store: string,
): Promise<BackfillRequest> {
  const { runs, benchmarks, steps = 'all', parallel = PARALLEL, name, dataFolder, ...written } = options;
  refuseBucket(store);
  const config = parseBenchmarkConfig(written);
  const choice = parseSteps(steps);
  const chosen = await chooseCheckpoints(await chooseRuns(runs, records), choice, records);
  refuseTooMany(chosen.length * benchmarks.length);
  const judges = await findJudges(config, records);
  const places = { store, dataFolder: dataFolder ?? readEnvironment().benchmarkDataFolder ?? undefined };
  const asked = await mapWithLimit(chosen, READS_AT_ONCE, (checkpoint) =>
    askCheckpoint({ checkpoint, config, judges, benchmarks, places }, records),
  );
  const [first] = asked;
  if (!first) throw new DomainError('bad-config', 'Name the benchmarks: --benchmarks gsm8k,arithmetic.');
  const { names, inspectTasks } = first;
  const asking = askingOf({ config, ...judges }, places.dataFolder);
  const decisive = [runs, choice, decisiveOf(asking), ...(inspectTasks ? [inspectTasks] : [])];
  return {
    name: validateName('Backfill', name ?? defaultName(names, decisive)),
    store: path.resolve(store),
    checkpoints: asked.map(({ checkpoint }) => checkpoint),
    benchmarks: names,
    ...(inspectTasks && { inspectTasks }),
    asking: { ...asking, ...(asking.judges && { judgesFor: names }) },
    parallel: checkParallel(parallel),
  };
}

/** Who judges, seen from where the workers are. */
export interface BackfillJudging {
  readonly find: () => Promise<FoundJudges>;
  readonly place: () => Promise<WeightsPlace[]>;
}

export function judgingOf(
  options: BackfillOptions,
  records: RunRecords,
  view: Pick<WeightsView, 'dataFolder'>,
): BackfillJudging {
  const { judge } = options;
  const asked = judge === undefined ? {} : { judge: parseJudges(judge) };
  return {
    find: () => findJudges(asked, records, view),
    place: () => placeJudges(asked, records, view),
  };
}

interface CheckpointAsking {
  readonly checkpoint: ChosenCheckpoint;
  readonly config: BenchmarkConfig;
  readonly judges: FoundJudges;
  readonly benchmarks: readonly string[];
  readonly places: { readonly store: string; readonly dataFolder: string | undefined };
}

/** As `everstep eval --checkpoint RUN@STEP` would ask, so that each finds what the other did. */
async function askCheckpoint(
  { checkpoint: { run, row, paths }, config, judges, benchmarks, places }: CheckpointAsking,
  records: RunRecords,
) {
  const { step, lineage } = row;
  const model = await findSource({ ...config, checkpoint: `${run}@${step}` }, records);
  const requests = requestsFor(benchmarks, { config, source: model, ...judges }, places);
  const [request] = requests;
  if (!request || model.type === 'endpoint') throw new TypeError('A checkpoint is asked through its engine.');
  const checkpoint: BackfillCheckpoint = { run, step, lineage, model, paths, evalRun: request.run };
  return {
    checkpoint,
    names: requests.map(({ benchmark: name }) => name),
    inspectTasks: inspectTasksOf(requests),
  };
}

/** null where Inspect AI runs none of them. */
function inspectTasksOf(requests: readonly BenchmarkRequest[]): BackfillRequest['inspectTasks'] | null {
  const tasks = requests.flatMap(({ benchmark, inspectTask }) =>
    inspectTask ? [[benchmark, inspectTask] as const] : [],
  );
  return tasks.length > 0 ? Object.fromEntries(tasks) : null;
}

function defaultName(benchmarks: readonly string[], asked: readonly unknown[]): string {
  const digest = digestOfText(JSON.stringify([benchmarks, ...asked]));
  return `${benchmarks.join('-').slice(0, NAME_LENGTH)}-${digest}`;
}

export function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
}

function checkParallel(parallel: number): number {
  if (Number.isInteger(parallel) && parallel >= 1 && parallel <= MOST_PARALLEL) return parallel;
  throw new DomainError('bad-config', `parallel is ${parallel}. Give 1 to ${MOST_PARALLEL}.`);
}

function refuseTooMany(count: number): void {
  if (count <= MOST_CELLS) return;
  throw new DomainError(
    'bad-config',
    `${count} cells are asked for, and one backfill has at most ${MOST_CELLS}. Choose fewer with --steps every:N, or give several commands.`,
  );
}

function refuseBucket(store: string): void {
  if (!store.includes('://')) return;
  throw new DomainError(
    'bad-config',
    `The store ${store} holds no results of benchmarks. Use one on a disk.`,
  );
}
