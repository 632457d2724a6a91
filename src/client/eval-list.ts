import path from 'node:path';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { BenchmarkRequest, ModelSource } from '../core/benchmark-run';
import { largestOf } from '../core/extremes';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { readCellScores } from '../evaluation/stored-cell';
import { listBenchmarks } from '../stores/eval-places';
import type { EvalRunMetadata } from '../stores/eval-run-store';
import { EvalStore } from '../stores/eval-run-store';
import { loadResult } from '../stores/eval-store';
import { areTrajectoriesTorn } from './eval-damage';
import { readBenchmarkProgress } from './eval-progress';
import type { ServerLink } from './server-link';
import { ANSWER_LIMIT_MS } from './workflow-answers';

/**
 * `planning`: its data is being read, and it has no folder yet. `unfinished`: begun, and nobody works on it; the same command
 * goes on. `damaged`: its result cannot be read, or its trajectories are torn. `partial`: finished, and some examples failed.
 */
export type EvalStatus = 'planning' | 'running' | 'damaged' | 'unfinished' | 'partial' | 'finished';

/** One benchmark or evaluator of an eval run. */
export interface EvalCell {
  readonly benchmark: string;
  readonly status: EvalStatus;
  readonly done: number;
  /** null before it is planned. */
  readonly total: number | null;
  /** Of what is done so far; null before anything is. */
  readonly score: number | null;
  /** `--max-examples`; null where all are asked, or before it is planned. */
  readonly maxExamples: number | null;
}

/** A line of `results list`. */
export interface EvalSummary {
  readonly run: string;
  readonly dir: string;
  readonly model: string;
  /** As it is called, e.g. `my-run@100`; null for a base model and at endpoints. */
  readonly checkpoint: string | null;
  readonly status: EvalStatus;
  readonly done: number;
  readonly total: number | null;
  readonly startedAt: string | null;
  readonly cells: readonly EvalCell[];
}

/** What the server has under way, by the id of its workflow. */
export interface WorkflowUnderWay {
  readonly workflowId: string;
  readonly run: string;
  readonly benchmark: string;
  readonly startedAt: string;
  /** null for an evaluator of a training run. */
  readonly request: BenchmarkRequest | null;
}

const UNDER_WAY = 'WorkflowType IN ("runBenchmark", "runEvaluator") AND ExecutionStatus = "Running"';
const MOST_UNDER_WAY = 1000;
const READS_AT_ONCE = 8;
/** The status of a run is that of its cells which comes first here. */
const URGENCY: readonly EvalStatus[] = [
  'running',
  'planning',
  'damaged',
  'unfinished',
  'partial',
  'finished',
];
const Memo = z.object({ request: z.custom<BenchmarkRequest>((value) => typeof value === 'object') });

/** Eval runs of the store, and those that only the server knows because they are being planned; the newest first. */
export async function listEvals(link: ServerLink, store: string): Promise<EvalSummary[]> {
  const client = await link.find();
  const live = client ? await listUnderWay(client) : [];
  const evals = new EvalStore(store);
  const stored = [...(await evals.listRuns()), ...(await evals.listUndescribed())];
  const known = new Set(stored.map(({ run_id }) => run_id));
  const summaries = await mapWithLimit(stored, READS_AT_ONCE, (run) => summarize(store, run, live));
  const fresh = [...new Set(live.map(({ run }) => run))].filter((run) => !known.has(run));
  const all = [...fresh.map((run) => freshSummary(store, run, live)), ...summaries];
  return all.sort((left, right) => (right.startedAt ?? '').localeCompare(left.startedAt ?? ''));
}

/** Benchmarks and evaluators that are open on the server, whether a worker has them or not. */
export async function listUnderWay(client: Client): Promise<WorkflowUnderWay[]> {
  const found: WorkflowUnderWay[] = [];
  try {
    await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, async () => {
      for await (const { workflowId, memo, startTime } of client.workflow.list({ query: UNDER_WAY })) {
        const [kind, run, ...rest] = workflowId.split('/');
        if (kind !== 'bench' || run === undefined || rest.length === 0) continue;
        const request = Memo.safeParse(memo).data?.request ?? null;
        found.push({
          workflowId,
          run,
          benchmark: rest.join('/'),
          startedAt: startTime.toISOString(),
          request,
        });
        if (found.length >= MOST_UNDER_WAY) break;
      }
    });
  } catch {
    // The store has all but what is being planned.
  }
  return found;
}

async function summarize(
  store: string,
  metadata: EvalRunMetadata,
  live: readonly WorkflowUnderWay[],
): Promise<EvalSummary> {
  const { run_id: run, model_name: model, checkpoint_name, checkpoint_path, timestamp } = metadata;
  const dir = path.join(store, 'evals', run);
  const { finished, unfinished, cells: evaluators } = await listBenchmarks(dir);
  const open = live.filter((each) => each.run === run).map(({ benchmark }) => benchmark);
  const names = [...new Set([...finished, ...unfinished, ...evaluators, ...open])].sort();
  const cells = await Promise.all(
    names.map((benchmark) =>
      evaluators.includes(benchmark) && !open.includes(benchmark)
        ? evaluatorCell(dir, benchmark)
        : cellOf({
            ...{ run, dir, benchmark },
            ...{ isOpen: open.includes(benchmark), hasResult: finished.includes(benchmark) },
          }),
    ),
  );
  const checkpoint = checkpoint_name ?? checkpoint_path;
  return { run, dir, model, checkpoint, startedAt: timestamp || null, cells, ...totalOf(cells) };
}

/** One that has no folder yet: its requests are all that is known. */
function freshSummary(store: string, run: string, live: readonly WorkflowUnderWay[]): EvalSummary {
  const mine = live.filter((each) => each.run === run);
  const request = mine.find((each) => each.request !== null)?.request;
  const cells = mine.map((each) => ({
    ...NOTHING_DONE,
    ...{ benchmark: each.benchmark, status: 'planning' as const },
    maxExamples: each.request?.maxExamples ?? null,
  }));
  return {
    run,
    dir: request?.folder ?? path.join(store, 'evals', run),
    model: request?.model.model ?? '',
    checkpoint: request ? checkpointOf(request.model) : null,
    startedAt: mine[0]?.startedAt ?? null,
    cells,
    ...totalOf(cells),
  };
}

function checkpointOf(model: ModelSource): string | null {
  return model.type === 'engine' ? (model.label ?? model.path) : null;
}

const NOTHING_DONE = { done: 0, total: null, score: null, maxExamples: null } as const;

interface CellPlace {
  readonly run: string;
  readonly dir: string;
  readonly benchmark: string;
  readonly isOpen: boolean;
  /** There is a `result.json`, whether it can be read or not. */
  readonly hasResult: boolean;
}

async function cellOf({ run, dir, benchmark, isOpen, hasResult }: CellPlace): Promise<EvalCell> {
  const [result, progress] = await Promise.all([
    loadResult(dir, benchmark),
    readBenchmarkProgress({ run, folder: dir, benchmark }),
  ]);
  if (result && !isOpen) {
    const { score, num_examples: total, num_errors } = result;
    const isTorn = await areTrajectoriesTorn(dir, benchmark, total);
    const status = statusOf(isTorn, num_errors);
    return { benchmark, status, done: total, total, score, maxExamples: progress?.maxExamples ?? null };
  }
  const idle = hasResult ? 'damaged' : 'unfinished';
  if (!progress) return { ...NOTHING_DONE, benchmark, status: isOpen ? 'planning' : idle };
  const { done, score, maxExamples } = progress;
  // A plan of nothing is one that was not finished.
  const total = progress.total || null;
  return { benchmark, status: isOpen ? 'running' : idle, done, total, score, maxExamples };
}

/** An evaluator of a training run has scores of its own, each with a name, in place of the one of a benchmark. */
async function evaluatorCell(dir: string, benchmark: string): Promise<EvalCell> {
  const scores = await readCellScores(path.join(dir, benchmark));
  if (scores === null) return { ...NOTHING_DONE, benchmark, status: 'damaged' };
  const done = largestOf([0, ...scores.map(({ n }) => n)]);
  return { benchmark, status: 'finished', done, total: done, score: null, maxExamples: null };
}

function statusOf(isTorn: boolean, errorCount: number): EvalStatus {
  if (isTorn) return 'damaged';
  return errorCount > 0 ? 'partial' : 'finished';
}

function totalOf(cells: readonly EvalCell[]): Pick<EvalSummary, 'status' | 'done' | 'total'> {
  const statuses = cells.map(({ status }) => status);
  const totals = cells.flatMap(({ total }) => total ?? []);
  return {
    status: URGENCY.find((status) => statuses.includes(status)) ?? 'unfinished',
    done: cells.reduce((sum, { done }) => sum + done, 0),
    total:
      totals.length < cells.length || cells.length === 0 ? null : totals.reduce((sum, each) => sum + each, 0),
  };
}
