import path from 'node:path';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { headlineScore } from '../core/headline-score';
import type { RunState, ScoreRow } from '../core/run';
import { RUN_STATUSES } from '../core/run';
import { readNewestRows } from '../stores/last-row';
import { isScoreRow } from '../stores/run-rows';
import type { UnreadableState } from '../stores/run-state';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import type { RunReport } from './run-report';
import { isClosed } from './run-report';
import type { RunFilter, RunPage, RunSummary } from './run-summary';
import { RUN_KINDS, RUN_SORTS } from './run-summary';
import type { RunCondition } from './runs-condition';
import { chooseCondition } from './runs-condition';
import { findUnstored } from './runs-on-server';
import { Selection } from './runs-order';
import type { Known } from './known-options';
import { requireKnownOptions, requireOneOf } from './known-options';

const CONCURRENT_QUESTIONS = 8;
const SCORES_AT_ONCE = 32;

/** Runs of the store, and those only the server knows: being prepared, or ended while they were. */
export async function listRuns(sources: RunSources, filter: RunFilter = {}): Promise<RunSummary[]> {
  return [...(await pageOfRuns(sources, filter)).runs];
}

const FILTER: Known<RunFilter> = {
  ...{ status: true, kind: true, model: true },
  ...{ where: true, sort: true, limit: true },
};

function requireFilter(filter: RunFilter): void {
  requireKnownOptions('runs.list', filter, FILTER);
  requireOneOf('status', filter.status, RUN_STATUSES);
  requireOneOf('kind', filter.kind, RUN_KINDS);
  requireOneOf('sort', filter.sort, RUN_SORTS);
}

/** The same with what there is besides. Memory holds the page, the runs under way, and nothing of the others. */
export async function pageOfRuns(sources: RunSources, filter: RunFilter = {}): Promise<RunPage> {
  requireFilter(filter);
  const condition = await chooseCondition(sources.link, filter.where);
  const needsScores = filter.sort === 'score' || condition.needsScores;
  const context = { sources, filter, condition, needsScores };
  const selection = new Selection<RunSummary>(filter.sort ?? 'started', filter.limit);

  const { open, unreadable } = await takeClosed(context, selection);
  const damaged = new Set(unreadable.map(({ run }) => run));
  const unstored = await findUnstored(sources, { names: condition.names, filter });
  const asked = [...open, ...unstored];
  const asStored: string[] = [];
  await mapWithLimit(asked, CONCURRENT_QUESTIONS, async (run) => {
    const report = await findUnless(damaged, new RunHandle(run, sources));
    if (report?.source === 'store' && !isClosed(report)) asStored.push(run);
    if (report) await take(context, selection, report);
  });

  const runs = selection.rows();
  return {
    runs: needsScores ? runs : await mapWithLimit(runs, SCORES_AT_ONCE, (row) => withScore(row, sources)),
    matchCount: selection.offeredCount,
    answeredBy: condition.answeredBy,
    note: condition.note,
    asStored: runs.flatMap(({ run }) => (asStored.includes(run) ? [run] : [])),
    unreadable,
  };
}

interface Listing {
  readonly sources: RunSources;
  readonly filter: RunFilter;
  readonly condition: RunCondition;
  readonly needsScores: boolean;
}

/** What a disk says of one run's state, which stands in the list, is not said of the others. */
async function findUnless(damaged: ReadonlySet<string>, handle: RunHandle): Promise<RunReport | null> {
  try {
    return await handle.find();
  } catch (error) {
    if (damaged.has(handle.name)) return null;
    throw error;
  }
}

interface Others {
  /** Names of runs that have not ended. */
  readonly open: readonly string[];
  readonly unreadable: readonly UnreadableState[];
}

/** Closed runs stand in the store as they will stand forever. Returns the others. */
async function takeClosed(listing: Listing, selection: Selection<RunSummary>): Promise<Others> {
  const { sources, filter, condition } = listing;
  const open: string[] = [];
  const unreadable: UnreadableState[] = [];
  let closed: RunState[] = [];
  const settle = async () => {
    const states = closed;
    closed = [];
    await Promise.all(states.map((state) => take(listing, selection, state)));
  };
  for await (const state of sources.records.eachRun((found) => unreadable.push(found))) {
    if (!mayMatch(state, filter) || condition.names?.has(state.run) === false) continue;
    if (isClosed(state)) closed.push(state);
    else open.push(state.run);
    if (closed.length >= SCORES_AT_ONCE) await settle();
  }
  await settle();
  return { open, unreadable };
}

async function take(
  { sources, filter, condition, needsScores }: Listing,
  selection: Selection<RunSummary>,
  state: RunState,
): Promise<void> {
  if (!mayMatch(state, filter)) return;
  if (filter.status !== undefined && filter.status !== state.status) return;
  const bare = { ...summarize(state), score: null };
  const summary = needsScores ? await withScore(bare, sources) : bare;
  if (condition.holds(summary, state.workflowId)) selection.offer(summary);
}

/** What never changes in a run's life. */
function mayMatch({ kind, model }: RunState, filter: RunFilter): boolean {
  return (
    (filter.kind === undefined || filter.kind === kind) &&
    (filter.model === undefined || filter.model === model)
  );
}

function summarize(state: RunState): Omit<RunSummary, 'score'> {
  const { run, kind, model, status, step, totalSteps, startedAt, closedAt } = state;
  return { run, kind, model, status, step, totalSteps, startedAt, closedAt };
}

/** From the end of `scores.jsonl`: that file grows with the run. */
async function withScore(summary: RunSummary, { records }: RunSources): Promise<RunSummary> {
  const file = path.join(records.runFolder(summary.run), 'scores.jsonl');
  const row = headlineScore((await readNewestRows<ScoreRow>(file)).filter(isScoreRow));
  if (!row) return summary;
  const { step, evaluator, metric, key, value, stderr, n, higherIsBetter } = row;
  return { ...summary, score: { step, evaluator, metric, key, value, stderr, n, higherIsBetter } };
}
