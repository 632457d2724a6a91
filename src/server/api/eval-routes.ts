import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { listDamaged } from '../../client/eval-damage';
import { listEvals } from '../../client/eval-list';
import { DomainError } from '../../core/errors';
import { isValidName } from '../../core/names';
import { listBenchmarks, locateResults } from '../../stores/eval-places';
import { EvalStore } from '../../stores/eval-run-store';
import type { StoredResult, StoredTrajectory, TrajectoryFilter } from '../../stores/eval-store';
import { benchmarkFolder, loadResult, streamTrajectoriesInTurns } from '../../stores/eval-store';
import type { Routes } from '../http/route';
import * as answers from './answer-schemas';
import type { RunAccess } from './run-access';

const EvalPath = z.object({
  evaluation: z
    .string()
    .refine(isPlace, 'is neither a name of an eval run nor RUN@STEP or RUN@best')
    .describe('Name of an eval run, or RUN@STEP for what a training run was evaluated to'),
});
const BenchmarkPath = EvalPath.extend({
  benchmark: z.string().refine(isValidName, 'is not a name of a benchmark'),
});
const PageQuery = z.strictObject({
  offset: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(500).default(50),
  only: z.enum(['correct', 'incorrect', 'errors', 'truncated', 'unparsed']).optional(),
  example: z.string().max(500).optional().describe('Id of an example'),
});

type Query = z.infer<typeof PageQuery>;

/** Eval runs, their results, and every example behind a score. */
export function addEvalRoutes(routes: Routes, access: RunAccess): void {
  const { root } = access.records;
  routes.add(
    {
      method: 'GET',
      path: '/api/v1/evals',
      id: 'listEvals',
      summary: 'Eval runs, the newest first',
      tag: 'evals',
      answers: {
        200: {
          description: 'The eval runs',
          schema: z.object({ evals: z.array(answers.EvalSummary), temporal: answers.Temporal }),
        },
      },
    },
    async () => {
      const { sources, temporal } = await access.current();
      return { evals: await listEvals(sources.link, root), temporal };
    },
  );
  routes.add(
    {
      method: 'GET',
      path: '/api/v1/evals/{evaluation}',
      id: 'getEval',
      summary: 'Results by benchmark: scores, counts, and what they were made of',
      tag: 'evals',
      parameters: EvalPath,
      answers: {
        200: {
          description: 'The results',
          schema: z.object({
            evaluation: z.string(),
            benchmarks: z.array(answers.StoredResult),
            unfinished: z.array(z.string()),
            damaged: z
              .array(z.string())
              .describe(
                'Benchmarks and evaluators whose result cannot be read, which are left out of `benchmarks`, or whose trajectories are torn',
              ),
            losses: z
              .array(z.string())
              .describe(
                'Losses of a training run, of which each example is stored; their values are among its scores',
              ),
          }),
        },
      },
    },
    ({ parameters: { evaluation } }) => readEval(root, evaluation),
  );
  addTrajectoriesRoute(routes, root);
}

async function readEval(root: string, evaluation: string) {
  const folder = await folderOf(root, evaluation);
  const { finished, unfinished, likelihoods, cells } = await listBenchmarks(folder);
  const results = new Map<string, StoredResult>();
  for (const name of finished) {
    const result = await loadResult(folder, name);
    if (result) results.set(name, result);
  }
  const damaged = await listDamaged(folder, { finished, cells }, results);
  return { evaluation, benchmarks: [...results.values()], unfinished, damaged, losses: [...likelihoods] };
}

function addTrajectoriesRoute(routes: Routes, root: string): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/v1/evals/{evaluation}/{benchmark}/trajectories',
      id: 'listTrajectories',
      summary: 'Examples as they went, a page at a time',
      tag: 'evals',
      parameters: BenchmarkPath,
      query: PageQuery,
      answers: {
        200: {
          description: 'A page',
          schema: z.object({
            evaluation: z.string(),
            benchmark: z.string(),
            offset: z.int(),
            nextOffset: z.int().nullable().describe('Where the next page begins; null after the last one'),
            trajectories: z.array(answers.Trajectory),
          }),
        },
      },
    },
    async ({ parameters: { evaluation, benchmark }, query, signal }) => {
      const folder = await folderOf(root, evaluation);
      const { finished, unfinished } = await listBenchmarks(folder);
      if (![...finished, ...unfinished].includes(benchmark)) {
        const names = [...finished, ...unfinished].join(', ') || 'none';
        throw new DomainError(
          'unknown-run',
          `"${evaluation}" has no benchmark "${benchmark}". It has: ${names}.`,
        );
      }
      const page = await readPage(benchmarkFolder(folder, benchmark), query, signal);
      return { evaluation, benchmark, offset: query.offset, ...page };
    },
  );
}

function isPlace(text: string): boolean {
  const [name = '', step, ...rest] = text.split('@');
  return isValidName(name) && rest.length === 0 && (step === undefined || /^(best|\d{1,12})$/.test(step));
}

async function folderOf(root: string, evaluation: string): Promise<string> {
  if (!evaluation.includes('@')) {
    const store = new EvalStore(root);
    const folder = store.runDir(evaluation);
    // What was begun may have neither metadata nor a result yet.
    const { finished, unfinished } = await listBenchmarks(folder);
    if (finished.length + unfinished.length === 0) await store.readRun(evaluation);
    return folder;
  }
  const { folder } = await locateResults(evaluation, root);
  // What lies elsewhere is no result of this store, whatever it is called.
  const isOfStore = ['runs', 'evals'].some((part) => folder.startsWith(path.join(root, part) + path.sep));
  if (isOfStore) return folder;
  throw new DomainError('unknown-run', `There is no run of "${evaluation}" in the store.`);
}

interface Page {
  readonly trajectories: readonly StoredTrajectory[];
  readonly nextOffset: number | null;
}

async function readPage(folder: string, query: Query, signal: AbortSignal): Promise<Page> {
  const { offset, limit } = query;
  const trajectories: StoredTrajectory[] = [];
  let matchCount = 0;
  for await (const trajectory of matching(folder, query, signal)) {
    if (trajectories.length === limit) return { trajectories, nextOffset: offset + limit };
    if (matchCount++ >= offset) trajectories.push(trajectory);
  }
  return { trajectories, nextOffset: null };
}

/** Others get their turn now and then, also where none match. Nothing is read on for who has gone. */
async function* matching(
  folder: string,
  { only, example }: Query,
  signal: AbortSignal,
): AsyncGenerator<StoredTrajectory> {
  const filter: TrajectoryFilter = only === undefined ? {} : { [`${only}Only`]: true };
  for (const some of streamTrajectoriesInTurns(folder, filter)) {
    for (const trajectory of some)
      if (example === undefined || trajectory.example_id === example) yield trajectory;
    await nextTurn();
    if (signal.aborted) return;
  }
}
