import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchmarkPlace, BenchmarkRequest, ShardProgress } from '../../core/benchmark-run';
import { mapWithLimit } from '../../core/concurrency/map-with-limit';
import { hasErrorCode } from '../../core/error-code';
import { DomainError } from '../../core/errors';
import type { Regrading, TakenAnswers } from '../../core/result-origin';
import type { ResultIdentity } from '../../stores/eval-store';
import { benchmarkFolder } from '../../stores/eval-store';
import { requireNoLinksIn } from '../../stores/plain-folders';
import { readJson, writeJson } from '../../stores/whole-file';
import type { GenerationDefaults } from '../benchmarks/benchmark';
import { planFault, wholePlanFault } from './plan-fault';
import { isShardProgress } from './progress-types';

/** Examples of one shard: a part of `examples.jsonl`. */
export interface ShardPart {
  readonly exampleCount: number;
  readonly offset: number;
  readonly bytes: number;
  /** Of these bytes. Plans of earlier versions have none. */
  readonly digest?: string;
}

/**
 * `plan.json`: what one benchmark of an eval run is, fixed when it is first started.
 *
 * ```
 * <folder>/<benchmark>/result.json, trajectories.jsonl, rollouts.html
 * <folder>/<benchmark>/journal/plan.json
 * <folder>/<benchmark>/journal/examples.jsonl              the examples as they were then
 * <folder>/<benchmark>/journal/examples-<n>.jsonl          the same since the n-th grading, where references had changed
 * <folder>/<benchmark>/journal/shard-<n>/samples.jsonl     completions, as they arrive
 * <folder>/<benchmark>/journal/shard-<n>/grades.jsonl      judgements
 * <folder>/<benchmark>/journal/shard-<n>/progress.json     how far the shard is
 * ```
 */
export interface BenchmarkPlan {
  /** A task measured by generation or likelihood, whose one shard writes the result. */
  readonly isKind?: true;
  readonly benchmark: string;
  readonly request: BenchmarkRequest;
  readonly identity: ResultIdentity;
  readonly generation: GenerationDefaults;
  readonly contextWindow: number | null;
  readonly timeoutSeconds: number;
  readonly numSamples: number;
  readonly systemPrompt: string | null;
  /** Where the examples came from. */
  readonly source: string;
  readonly exampleCount: number;
  readonly shards: readonly ShardPart[];
  /** Digest of all that an answer depends on beside its example. */
  readonly base: string;
  /** Answers are found again by what was asked alone; absent where they were begun by 0.1, with the whole example. */
  readonly isKeyedByPrompt?: true;
  /** Name of the file of the examples, where their references have changed since; default `examples.jsonl`. */
  readonly examplesFile?: string;
  /** Stored answers are graded: what is missing is not asked for. */
  readonly isRegrading?: true;
  /** Each time that it was graded again, the last of which may be under way. */
  readonly regraded?: readonly Regrading[];
  /** What was taken from another eval run. */
  readonly answers?: TakenAnswers;
  /** How often it was started. */
  readonly starts: number;
  /** ISO time of the last start. */
  readonly startedAt: string;
  /** Time that starts before the last one took to their results. */
  readonly secondsBefore: number;
}

const PLAN_LOOKS = 6;
const PLAN_LOOK_MS = 500;
/** Files open at a time. */
const READS_AT_ONCE = 64;

export function resultFolder({ folder, benchmark }: Pick<BenchmarkPlace, 'folder' | 'benchmark'>): string {
  return benchmarkFolder(folder, benchmark);
}

export function examplesPath(
  place: BenchmarkPlace,
  plan: Pick<BenchmarkPlan, 'examplesFile'> | null = null,
): string {
  // A plan may be somebody else's: its name leads nowhere else.
  return join(resultFolder(place), 'journal', basename(plan?.examplesFile ?? 'examples.jsonl'));
}

export function shardFolder(place: BenchmarkPlace, shard: number): string {
  return join(resultFolder(place), 'journal', `shard-${shard}`);
}

/** null before the first start, and where what lies there is no plan. */
export async function findPlan(place: BenchmarkPlace): Promise<BenchmarkPlan | null> {
  const plan = await readJson<BenchmarkPlan>(planPath(place));
  return plan !== null && planFault(plan) === null ? plan : null;
}

/** Of an eval run that may be somebody else's, to use its answers: what is no whole plan is refused by file and field. */
export async function findForeignPlan(
  place: BenchmarkPlace,
  faultOf: (plan: object) => string | null = wholePlanFault,
): Promise<BenchmarkPlan | null> {
  const plan = await readJson<BenchmarkPlan>(planPath(place));
  const fault = plan && faultOf(plan);
  if (fault === null) return plan;
  throw new DomainError(
    'bad-config',
    `${JSON.stringify(planPath(place))} is damaged: ${fault}. Put it back from a copy, or name another eval run.`,
  );
}

/**
 * For work that was planned. A worker that sees another store waits for one that sees the plan; where the journal is there
 * and its plan is not, somebody has damaged it.
 */
export async function readPlan(place: BenchmarkPlace): Promise<BenchmarkPlan> {
  for (let look = 1; ; look++) {
    const plan = await findPlan(place);
    if (plan) return plan;
    if (!existsSync(examplesPath(place))) break;
    // A shared disk may show the one a moment before the other.
    if (look === PLAN_LOOKS) throw damagedPlan(planPath(place));
    await delay(PLAN_LOOK_MS);
  }
  throw new DomainError(
    'unreachable',
    `This worker sees no ${planPath(place)}. Start it on the machine and with the --store of the eval run.`,
    { retryable: true },
  );
}

/**
 * Number of the next start. It outranks all before it, also those that a lost plan knew of: what they left is then older than
 * the time of day in seconds. A folder with links in it is refused: from here on is written there.
 */
export async function nextStart(
  place: BenchmarkPlace,
  before: BenchmarkPlan | null,
  now: Date,
): Promise<number> {
  await requireNoLinksIn(place.folder, place.benchmark);
  if (before) return before.starts + 1;
  const hasRemains = (await readdirOf(resultFolder(place))).length > 0;
  return hasRemains ? Math.floor(now.getTime() / 1000) : 1;
}

export function writePlan(place: BenchmarkPlace, plan: BenchmarkPlan): Promise<void> {
  return writeJson(planPath(place), plan);
}

/** null before the shard was begun, and where what lies there says not how far it is. */
export async function readProgress(place: BenchmarkPlace, shard: number): Promise<ShardProgress | null> {
  const progress = await readJson<ShardProgress>(progressPath(place, shard));
  return progress !== null && isShardProgress(progress) ? progress : null;
}

/** Shards of a plan that left files, in order. A plan may be somebody else's, and say that there are any number. */
export async function begunShards(
  place: BenchmarkPlace,
  { shards }: Pick<BenchmarkPlan, 'shards'>,
): Promise<number[]> {
  const names = new Set(await readdirOf(join(resultFolder(place), 'journal')));
  return [...shards.keys()].filter((shard) => names.has(basename(shardFolder(place, shard))));
}

/** How far each shard that was begun is; nothing of one that does not say. */
export async function readAllProgress(
  place: BenchmarkPlace,
  plan: Pick<BenchmarkPlan, 'shards'>,
): Promise<ReadonlyMap<number, ShardProgress>> {
  const begun = await begunShards(place, plan);
  const read = await mapWithLimit(begun, READS_AT_ONCE, async (shard) => ({
    shard,
    progress: await readProgress(place, shard),
  }));
  return new Map(read.flatMap(({ shard, progress }) => (progress ? [[shard, progress] as const] : [])));
}

export function progressPath(place: BenchmarkPlace, shard: number): string {
  return join(shardFolder(place, shard), 'progress.json');
}

function damagedPlan(path: string): DomainError {
  return new DomainError(
    'store-conflict',
    `${path} is gone or damaged. Give the same command again: it plans anew, and answers that are journalled are used.`,
  );
}

async function readdirOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  }
}

function planPath(place: BenchmarkPlace): string {
  return join(resultFolder(place), 'journal', 'plan.json');
}
