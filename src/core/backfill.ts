import type { BenchmarkRequest, BenchmarkSummary, EngineSource, InspectTask } from './benchmark-run';

/** A matrix of checkpoints × benchmarks, and where each cell stands. Plain JSON: it travels through workflow history. */

/** Stands among paths for weights that have none, because nobody trained them. */
export const BASE_MODEL = '';

/** Cells that may be under way at a time. */
export const MOST_PARALLEL = 64;

/** Weights of one row of the matrix. */
export interface BackfillCheckpoint {
  readonly run: string;
  readonly step: number;
  readonly lineage: number;
  readonly model: EngineSource;
  /** Every path these weights were saved under: a rewind saves them again. */
  readonly paths: readonly string[];
  /** Eval run of the same question asked by `everstep eval`. */
  readonly evalRun: string;
}

/** How every cell is asked; see `BenchmarkRequest`. */
type BackfillAsking = Omit<BenchmarkRequest, 'run' | 'folder' | 'benchmark' | 'inspectTask' | 'model'>;

export interface BackfillRequest {
  readonly name: string;
  /** Absolute folder of all runs. */
  readonly store: string;
  readonly checkpoints: readonly BackfillCheckpoint[];
  readonly benchmarks: readonly string[];
  /** Those of the benchmarks that Inspect AI runs, by their name there. */
  readonly inspectTasks?: Readonly<Record<string, InspectTask>>;
  readonly asking: BackfillAsking;
  /** Cells under way at a time. */
  readonly parallel: number;
}

export const CELL_STATUSES = [
  /** Not looked up yet. */
  'unknown',
  'missing',
  'running',
  /** Scored before, by whatever command. */
  'present',
  /** Scored now. */
  'done',
  /** Scored now, with examples that failed: they are tried again next time. */
  'partial',
  'failed',
] as const;
export type CellStatus = (typeof CELL_STATUSES)[number];

export type CellScores = Pick<
  BenchmarkSummary,
  'score' | 'stderr' | 'interval' | 'numExamples' | 'numErrors'
>;

export interface BackfillCell {
  /** Index of the checkpoint. */
  readonly row: number;
  /** Index of the benchmark. */
  readonly column: number;
  readonly status: CellStatus;
  /** Eval run that holds it, or will; absent before it is looked up, and for a training run's own evaluation. */
  readonly evalRun?: string;
  /** Folder of the result below the store. */
  readonly place?: string;
  readonly scores?: CellScores;
  /** Why it failed. */
  readonly reason?: string;
}

/** What is in the store of one cell. */
export type CellFinding =
  | { readonly isPresent: true; readonly place: string; readonly scores: CellScores }
  | { readonly isPresent: false; readonly evalRun: string };

/** What the workflow answers while it runs and returns at its end. */
export interface BackfillState {
  readonly name: string;
  /** Ordered by checkpoint, then by benchmark. */
  readonly cells: readonly MatrixCell[];
}

/** What fits into one message to the server. */
export const MOST_CELLS = 2000;

export function newCells({ checkpoints, benchmarks }: BackfillRequest): BackfillCell[] {
  return benchmarks.flatMap((_, column) =>
    checkpoints.map((_checkpoint, row) => ({ row, column, status: 'unknown' as const })),
  );
}

export function applyFinding(cell: BackfillCell, finding: CellFinding): BackfillCell {
  const { row, column } = cell;
  if (!finding.isPresent) return { row, column, status: 'missing', evalRun: finding.evalRun };
  const { place, scores } = finding;
  return { row, column, status: 'present', place, scores };
}

/** `isFinal`: examples that failed are not tried again. */
export function scoredCell(cell: BackfillCell, summary: BenchmarkSummary, isFinal = false): BackfillCell {
  const { row, column, evalRun = '' } = cell;
  return {
    row,
    column,
    status: summary.numErrors > 0 && !isFinal ? 'partial' : 'done',
    evalRun,
    place: `evals/${evalRun}/${summary.name}`,
    scores: scoresOf(summary),
  };
}

export function scoresOf({ score, stderr, interval, numExamples, numErrors }: BenchmarkSummary): CellScores {
  return { score, stderr, interval, numExamples, numErrors };
}

/** What `runBenchmark` is asked for one checkpoint. */
export function benchmarkRequestOf(
  { store, asking, inspectTasks = {} }: Pick<BackfillRequest, 'store' | 'asking' | 'inspectTasks'>,
  { model }: BackfillCheckpoint,
  { evalRun, benchmark }: { readonly evalRun: string; readonly benchmark: string },
): BenchmarkRequest {
  const inspectTask = inspectTasks[benchmark];
  return {
    ...asking,
    ...{ run: evalRun, folder: `${store}/evals/${evalRun}`, benchmark, model },
    ...(inspectTask && { inspectTask }),
  };
}

export function checkpointLabel({ run, step }: Pick<BackfillCheckpoint, 'run' | 'step'>): string {
  return `${run}@${step}`;
}

export function countCells(cells: readonly Pick<BackfillCell, 'status'>[]): Record<CellStatus, number> {
  const counts = { unknown: 0, missing: 0, running: 0, present: 0, done: 0, partial: 0, failed: 0 };
  for (const { status } of cells) counts[status] += 1;
  return counts;
}

/** A cell as people and programs are told of it. */
export interface MatrixCell {
  readonly run: string;
  readonly step: number;
  readonly benchmark: string;
  readonly status: CellStatus;
  readonly score: number | null;
  readonly stderr: number | null;
  /** 95 %. */
  readonly interval: readonly [low: number, high: number] | null;
  readonly numExamples: number;
  readonly numErrors: number;
  /** Folder of the result, or of the one that is being made; null where there is none. */
  readonly dir: string | null;
  /** Why it failed; null where it did not. */
  readonly reason: string | null;
}

const NO_SCORES = { score: null, stderr: null, interval: null, numExamples: 0, numErrors: 0 };

/** Ordered by checkpoint, then by benchmark, as they were asked for. */
export function describeCells(
  { store, checkpoints, benchmarks }: BackfillRequest,
  cells: readonly BackfillCell[],
): MatrixCell[] {
  const described = cells.flatMap(({ row, column, status, scores, place, reason }) => {
    const checkpoint = checkpoints[row];
    const benchmark = benchmarks[column];
    if (!checkpoint || benchmark === undefined) return [];
    const { run, step } = checkpoint;
    const dir = place === undefined ? null : `${store}/${place}`;
    const told = { run, step, benchmark, status, ...(scores ?? NO_SCORES), dir, reason: reason ?? null };
    return [{ told, rank: row * benchmarks.length + column }];
  });
  return described.sort((left, right) => left.rank - right.rank).map(({ told }) => told);
}
