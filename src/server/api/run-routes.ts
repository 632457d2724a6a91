import { z } from 'zod';
import { pageOfRuns } from '../../client/list-runs';
import { unfinishedCells } from '../../client/partial-scores';
import type { RunHandle } from '../../client/run-handle';
import { RUN_KINDS } from '../../client/run-summary';
import { RUN_STATUSES } from '../../core/run';
import { isValidName } from '../../core/names';
import type { Routes } from '../http/route';
import { withoutUndefined } from '../http/without-undefined';
import * as answers from './answer-schemas';
import type { RunAccess } from './run-access';

const MOST_ROWS = 100_000;

export const RunPath = z.object({
  run: z.string().refine(isValidName, 'is not a name of a run').describe('Name of the run'),
});

const count = (most: number) => z.coerce.number().int().min(1).max(most);
const step = z.coerce.number().int().min(0);

const ListQuery = z.strictObject({
  status: z.enum(RUN_STATUSES).optional(),
  kind: z.enum(RUN_KINDS).optional(),
  model: z.string().max(300).optional(),
  where: z.string().max(2000).optional().describe("Temporal's list filter over EverstepScore and the like"),
  sort: z
    .enum(['started', 'score', 'step'])
    .optional()
    .describe('The newest (default), best or furthest first'),
  limit: count(10_000).default(1000),
});

const MetricsQuery = z.strictObject({
  from: step.optional(),
  to: step.optional(),
  points: count(MOST_ROWS)
    .optional()
    .describe('So many rows, evenly spread, the first and the last among them'),
  every: count(1_000_000_000).optional().describe('Steps that are a multiple of it, the first and the last'),
  last: count(MOST_ROWS).optional().describe('The newest rows, so many'),
  metrics: z.string().max(4000).optional().describe('Names with commas between them; default all'),
});

/** Reads of runs: what the workflow says where it answers, else what the store has. */
export function addRunRoutes(routes: Routes, access: RunAccess): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/v1/runs',
      id: 'listRuns',
      summary: 'Runs',
      tag: 'runs',
      query: ListQuery,
      answers: {
        200: {
          description: 'The runs',
          schema: z.object({
            runs: z.array(answers.RunSummary),
            matchCount: z.int().describe('With those beyond the limit'),
            answeredBy: z.enum(['server', 'store']).describe('Who answered `where`'),
            note: z.string().nullable(),
            unreadable: z
              .array(answers.UnreadableState)
              .describe('Runs whose state cannot be read, whatever was asked for'),
            temporal: answers.Temporal,
          }),
        },
      },
    },
    async ({ query }) => {
      const { sources, temporal } = await access.current();
      return { ...(await pageOfRuns(sources, withoutUndefined(query))), temporal };
    },
  );
  addStatusRoute(routes, access);
  addMetricsRoute(routes, access);
  for (const list of LISTS) addListRoute(routes, access, list);
}

function addStatusRoute(routes: Routes, access: RunAccess): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/v1/runs/{run}',
      id: 'getRun',
      summary: 'Where a run stands',
      tag: 'runs',
      parameters: RunPath,
      answers: {
        200: {
          description: 'The run',
          schema: z.object({
            run: answers.RunReport,
            latestMetrics: answers.MetricsRow.nullable(),
            best: z
              .looseObject({ step: z.int(), name: z.string() })
              .nullable()
              .describe('The checkpoint somebody promoted'),
            temporal: answers.Temporal,
          }),
        },
      },
    },
    async ({ parameters: { run } }) => {
      const { handle, temporal } = await access.handle(run);
      const report = await handle.status();
      const [latestMetrics, best] = await Promise.all([handle.latestMetrics(), handle.best()]);
      return { run: report, latestMetrics, best, temporal };
    },
  );
}

function addMetricsRoute(routes: Routes, access: RunAccess): void {
  routes.add(
    {
      method: 'GET',
      path: '/api/v1/runs/{run}/metrics',
      id: 'getMetrics',
      summary: 'Metrics of steps, all of them or a selection',
      tag: 'runs',
      parameters: RunPath,
      query: MetricsQuery,
      answers: {
        200: {
          description: 'Rows as they were written, in the order of steps',
          schema: z.object({
            run: z.string(),
            metrics: z.array(answers.MetricsRow),
            temporal: answers.Temporal,
          }),
        },
      },
    },
    async ({ parameters: { run }, query: { metrics: names, ...selection } }) => {
      const { handle, temporal } = await access.handle(run);
      await handle.status();
      const rows = await access.records.readMetrics(run, withoutUndefined(selection));
      return { run, metrics: names === undefined ? rows : rows.map((row) => pick(row, names)), temporal };
    },
  );
}

function pick(row: Readonly<Record<string, number | null>>, names: string): Record<string, number | null> {
  const wanted = ['step', ...names.split(',').map((name) => name.trim())];
  return Object.fromEntries(
    wanted.flatMap((name) => (Object.hasOwn(row, name) ? [[name, row[name] ?? null]] : [])),
  );
}

interface RowList {
  readonly name: 'scores' | 'checkpoints' | 'evaluations' | 'controls' | 'timeline';
  readonly summary: string;
  readonly row: z.ZodType;
  readonly read: (handle: RunHandle) => Promise<readonly unknown[]>;
  /** What stands beside the rows. */
  readonly beside?: {
    readonly shape: Readonly<Record<string, z.ZodType>>;
    readonly read: (handle: RunHandle) => Promise<Readonly<Record<string, unknown>>>;
  };
}

const LISTS: readonly RowList[] = [
  {
    name: 'scores',
    summary: 'Scores of all evaluations, with standard errors',
    row: answers.ScoreRow,
    read: (handle) => handle.scores(),
    beside: {
      shape: {
        unfinished: z
          .array(answers.EvaluationCell)
          .describe('Evaluations under way, or due while nobody answers for the run'),
      },
      read: async (handle) => ({ unfinished: unfinishedCells(await handle.evaluations()) }),
    },
  },
  {
    name: 'checkpoints',
    summary: 'Checkpoints, the newest last',
    row: answers.CheckpointRow,
    read: (handle) => handle.checkpoints(),
  },
  {
    name: 'evaluations',
    summary: 'Evaluators by step, those under way among them',
    row: answers.EvaluationCell,
    read: (handle) => handle.evaluations(),
  },
  {
    name: 'controls',
    summary: 'Changes people made while it ran',
    row: answers.ControlRow,
    read: (handle) => handle.controls(),
  },
  {
    name: 'timeline',
    summary: 'Everything that happened to it, in order',
    row: answers.TimelineEntry,
    read: (handle) => handle.timeline(),
  },
];

function addListRoute(routes: Routes, access: RunAccess, list: RowList): void {
  const { name, summary, row, read, beside } = list;
  routes.add(
    {
      method: 'GET',
      path: `/api/v1/runs/{run}/${name}`,
      id: `get${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`,
      summary,
      tag: 'runs',
      parameters: RunPath,
      answers: {
        200: {
          description: summary,
          schema: z.object({
            run: z.string(),
            [name]: z.array(row),
            ...beside?.shape,
            temporal: answers.Temporal,
          }),
        },
      },
    },
    async ({ parameters: { run } }) => {
      const { handle, temporal } = await access.handle(run);
      await handle.status();
      return { run, [name]: await read(handle), ...(await beside?.read(handle)), temporal };
    },
  );
}
