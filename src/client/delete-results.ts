import path from 'node:path';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { DomainError } from '../core/errors';
import { isValidName, validateName } from '../core/names';
import { nearestKey } from '../core/nearest-key';
import type { FolderSize } from '../stores/delete-folder';
import { deleteFolder, sizeOfFolder } from '../stores/delete-folder';
import { listBenchmarks } from '../stores/eval-places';
import { namesIn } from '../stores/folder-names';
import { findReferrers, placeIn, referenceToResults } from './eval-referrers';
import type { Referrer } from './eval-referrers';
import { benchmarkWorkflowId } from './eval-workflow';
import { forgetWorkflow } from './forget-workflow';
import type { RunSources } from './run-handle';
import { ANSWER_LIMIT_MS } from './workflow-answers';

/** What deleting the results of an eval run would take, and what stands against it. */
export interface ResultsDeletion extends FolderSize {
  readonly run: string;
  readonly folder: string;
  /** Who still needs it, and what to do; it is deleted only where this is empty. */
  readonly heldBy: readonly string[];
}

const QUESTIONS_AT_ONCE = 8;

export interface DeletionSources extends RunSources {
  readonly store: string;
  /** Null where no server says. */
  readonly scheduleNames: () => Promise<readonly string[] | null>;
}

/**
 * Says what `deleteResults` would do. What is asked for together does not hold one another. Throws `unknown-run` where there is
 * no such eval run.
 */
export async function planResultsDeletion(
  sources: DeletionSources,
  runs: readonly string[],
): Promise<ResultsDeletion[]> {
  return (await examine(sources, runs)).map(({ plan }) => plan);
}

/**
 * Deletes eval runs of the store that have ended and that nothing refers to: their folders, then the histories of their workflows
 * where a server answers. All or none: throws `refused`, and deletes nothing, where something needs one of them. Killed half-way,
 * each is gone or whole, and none is left whose answers came from one that is gone.
 */
export async function deleteResults(
  sources: DeletionSources,
  runs: readonly string[],
): Promise<ResultsDeletion[]> {
  const examined = await examine(sources, runs);
  const held = examined.filter(({ plan }) => plan.heldBy.length > 0);
  if (held.length > 0) {
    const reasons = held.map(({ plan }) => `"${plan.run}": ${plan.heldBy.join('; ')}`);
    throw new DomainError('refused', `Nothing is deleted. Eval run ${reasons.join('. Eval run ')}.`);
  }
  const client = await sources.link.find();
  const takenByOthers = new Set<string>();
  for (const { plan, cells } of inOrder(examined)) {
    if (!(await deleteFolder(sources.store, 'evals', plan.run))) takenByOthers.add(plan.run);
    for (const benchmark of client ? cells : [])
      if (client) await forgetWorkflow(client, benchmarkWorkflowId({ run: plan.run, benchmark }));
  }
  // What another has deleted in the same moment was not freed here.
  return examined.map(({ plan }) => (takenByOthers.has(plan.run) ? { ...plan, bytes: 0, files: 0 } : plan));
}

interface Examined {
  readonly plan: ResultsDeletion;
  readonly cells: readonly string[];
  /** Others of those asked for that refer to it. */
  readonly referredToBy: readonly string[];
}

async function examine(sources: DeletionSources, asked: readonly string[]): Promise<Examined[]> {
  const { store, link } = sources;
  const runs = [...new Set(asked)].map((run) => validateName('Eval run', run));
  await refuseUnknown(store, runs);
  const client = await link.find();
  const isBackfillOpen = async (name: string) => client && isRunning(client, `backfill/${name}`);
  const referrers = await findReferrers({ ...sources, isBackfillOpen });
  const open = client && (await openBenchmarks(client));
  const examined = runs.map(async (run) => {
    const folder = path.join(store, 'evals', run);
    const { finished, unfinished, likelihoods } = await listBenchmarks(folder);
    const cells = [...finished, ...unfinished, ...likelihoods];
    const found = await holding(run, { folder, referrers });
    const heldBy = [
      ...(client && open
        ? await underWay(client, { run, open, cells })
        : unanswered(run, finished.length + likelihoods.length, unfinished)),
      ...found.filter(({ evalRun }) => evalRun === null || !runs.includes(evalRun)).map(wordsOf),
    ];
    return {
      plan: { run, folder, ...(await sizeOfFolder(folder)), heldBy },
      cells,
      referredToBy: found.flatMap(({ evalRun }) => evalRun ?? []).filter((name) => runs.includes(name)),
    };
  });
  return Promise.all(examined);
}

async function refuseUnknown(store: string, runs: readonly string[]): Promise<void> {
  const known = (await namesIn(path.join(store, 'evals'))).filter(isValidName);
  const unknown = runs.find((run) => !known.includes(run));
  if (unknown === undefined) return;
  const nearest = nearestKey(unknown, known);
  throw new DomainError(
    'unknown-run',
    `Eval run "${unknown}" is not in ${store}. ${nearest === undefined ? '' : `Did you mean "${nearest}"? `}` +
      'List those there are with: everstep results list',
  );
}

interface Found extends Pick<Referrer, 'what' | 'remedy' | 'evalRun'> {
  readonly place: string;
}

async function holding(
  run: string,
  { folder, referrers }: { readonly folder: string; readonly referrers: readonly Referrer[] },
): Promise<Found[]> {
  const isReference = await referenceToResults(folder, run);
  return referrers
    .filter(({ evalRun }) => evalRun !== run)
    .flatMap((referrer) => {
      const place = placeIn(referrer, isReference);
      return place === null ? [] : [{ ...referrer, place }];
    });
}

function wordsOf({ what, place, remedy }: Found): string {
  return `${what} refers to it (${place}): ${remedy}`;
}

interface Begun {
  readonly run: string;
  /** Ids of workflows under way, of any run. */
  readonly open: readonly string[];
  readonly cells: readonly string[];
}

/** What the server lists lags behind what it says when it is asked. */
async function underWay(client: Client, { run, open, cells }: Begun): Promise<string[]> {
  const listed = open.filter((workflowId) => workflowId.startsWith(`bench/${run}/`));
  const begun = cells.map((benchmark) => benchmarkWorkflowId({ run, benchmark }));
  const asked = await mapWithLimit(begun, QUESTIONS_AT_ONCE, async (workflowId) =>
    (await isRunning(client, workflowId)) ? [workflowId] : [],
  );
  return [...new Set([...listed, ...asked.flat()])]
    .sort()
    .map((id) => `${id} goes on: call it off first with \`everstep results cancel ${run}\``);
}

async function isRunning(client: Client, workflowId: string): Promise<boolean> {
  try {
    const handle = client.workflow.getHandle(workflowId);
    const { status } = await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () => handle.describe());
    return status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** What has no result may go on as soon as its server is back. */
function unanswered(run: string, resultCount: number, unfinished: readonly string[]): string[] {
  if (resultCount > 0 && unfinished.length === 0) return [];
  const what = unfinished.length > 0 ? `${unfinished.join(', ')} has no result` : 'it has no result';
  return [
    `${what}, and no server says whether it goes on: start \`everstep dev\`, or call it off with \`everstep results cancel ${run}\``,
  ];
}

async function openBenchmarks(client: Client): Promise<string[]> {
  const query = 'ExecutionStatus = "Running" AND WorkflowId STARTS_WITH "bench/"';
  return client.withDeadline(Date.now() + ANSWER_LIMIT_MS, async () => {
    const open: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query })) open.push(workflowId);
    return open;
  });
}

/** Whoever refers goes before what it refers to. */
function inOrder(examined: readonly Examined[]): Examined[] {
  const left = [...examined];
  const ordered: Examined[] = [];
  while (left.length > 0) {
    const names = left.map(({ plan }) => plan.run);
    const free = left.findIndex(({ referredToBy }) => !referredToBy.some((name) => names.includes(name)));
    ordered.push(...left.splice(Math.max(0, free), 1));
  }
  return ordered;
}
