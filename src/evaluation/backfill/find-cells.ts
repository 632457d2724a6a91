import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { BackfillCheckpoint, BackfillRequest, CellFinding } from '../../core/backfill';
import { BASE_MODEL, benchmarkRequestOf, checkpointLabel, scoresOf } from '../../core/backfill';
import { hasErrorCode } from '../../core/error-code';
import { DomainError } from '../../core/errors';
import { isValidName } from '../../core/names';
import type { ResultIdentity, StoredResult } from '../../stores/eval-store';
import { loadResult } from '../../stores/eval-store';
import { identityDifferences } from '../compare/identity-differences';
import { digestOf } from '../digest';
import type { BenchmarkPlan } from '../runner/benchmark-plan';
import { findPlan } from '../runner/benchmark-plan';
import type { IdentifyDependencies } from '../runner/identify-benchmark';
import { identifyBenchmark } from '../runner/identify-benchmark';
import { summaryOf } from '../runner/summary-of';
import { readStoredCell } from '../stored-cell';
import type { LookUpTry } from './guard-look-up';
import { guardLookUp } from './guard-look-up';

/** One benchmark of some checkpoints. */
export interface ColumnRequest extends Pick<
  BackfillRequest,
  'store' | 'asking' | 'inspectTasks' | 'checkpoints'
> {
  readonly benchmark: string;
}

/** What was begun in an eval run. */
interface BegunCell {
  readonly evalRun: string;
  /** null where another program wrote the result. */
  readonly plan: BenchmarkPlan | null;
  readonly result: StoredResult | null;
}

const DIGEST_LENGTH = 8;
const NAME_LENGTH = 60;

/**
 * Looks for the cells of a column: results made of the same weights, data, prompt, sampling, grader and benchmark, in any
 * eval run of the store or among the training run's own evaluations.
 *
 * A result with errors is not there yet, but for one of Inspect AI. It is completed where it lies, as is one that was begun:
 * nothing is paid twice.
 */
export async function findCells(
  dependencies: IdentifyDependencies,
  column: ColumnRequest,
  tried?: LookUpTry,
): Promise<CellFinding[]> {
  await requireStore(column.store);
  const work = () => lookUp(dependencies, column);
  return tried ? guardLookUp(column, tried, work) : work();
}

async function lookUp(dependencies: IdentifyDependencies, column: ColumnRequest): Promise<CellFinding[]> {
  const identify = identifier(dependencies, column);
  const findings: CellFinding[] = [];
  let begun: readonly BegunCell[] | null = null;
  for (const checkpoint of column.checkpoints) {
    const wanted = await identify(checkpoint);
    begun ??= await listBegun(column.store, wanted.benchmark);
    findings.push(await findCell(column.store, { checkpoint, begun, ...wanted }));
  }
  return findings;
}

async function requireStore(store: string): Promise<void> {
  if (await exists(join(store, 'runs'))) return;
  throw new DomainError(
    'unreachable',
    `This worker sees no runs in ${store}. Start it on the machine and with the --store of the runs.`,
    { retryable: true },
  );
}

interface Wanted {
  readonly benchmark: string;
  /** A result stands as it is: Inspect AI tries again what failed by its own rules, or not at all. */
  readonly isFinal: boolean;
  readonly identity: ResultIdentity;
}

/** Data is read once for all checkpoints of a model. */
function identifier(dependencies: IdentifyDependencies, column: ColumnRequest) {
  const known = new Map<string, Promise<Omit<Wanted, 'isFinal'>>>();
  return async (checkpoint: BackfillCheckpoint): Promise<Wanted> => {
    const { model, evalRun } = checkpoint;
    const key = JSON.stringify([model.model, dependencies.models.promptFormat(model)]);
    const { benchmark, inspectTasks = {} } = column;
    const isFinal = inspectTasks[benchmark] !== undefined;
    const wanted =
      known.get(key) ??
      identifyBenchmark(dependencies, benchmarkRequestOf(column, checkpoint, { evalRun, benchmark }));
    known.set(key, wanted);
    const { identity, ...others } = await wanted;
    return { ...others, isFinal, identity: { ...identity, checkpoint: checkpointLabel(checkpoint) } };
  };
}

async function listBegun(store: string, benchmark: string): Promise<BegunCell[]> {
  const folder = join(store, 'evals');
  const begun: BegunCell[] = [];
  for (const evalRun of (await subfolders(folder)).filter(isValidName)) {
    const place = { run: evalRun, folder: join(folder, evalRun), benchmark };
    const plan = await findPlan(place);
    const result = await loadResult(place.folder, benchmark);
    if (plan || result) begun.push({ evalRun, plan, result });
  }
  return begun;
}

interface LookedFor extends Wanted {
  readonly checkpoint: BackfillCheckpoint;
  readonly begun: readonly BegunCell[];
}

async function findCell(store: string, wanted: LookedFor): Promise<CellFinding> {
  const { checkpoint, begun, benchmark, identity } = wanted;
  const same = begun.filter((cell) => isSameCell(cell, wanted));
  const finished = same.find(({ result }) => isThere(result, wanted));
  if (finished?.result) return present(`evals/${finished.evalRun}/${benchmark}`, finished.result);
  const own = await findOwnEvaluation(store, wanted);
  if (own) return own;
  const resumable = same.find(({ plan }) => plan?.identity.checkpoint === identity.checkpoint);
  if (resumable) return { isPresent: false, evalRun: resumable.evalRun };
  const isFree = begun.every(({ evalRun }) => evalRun !== checkpoint.evalRun);
  return { isPresent: false, evalRun: isFree ? checkpoint.evalRun : nameByIdentity(wanted) };
}

function isSameCell(begun: BegunCell, { identity, checkpoint }: LookedFor): boolean {
  const made = begun.plan?.identity ?? begun.result?.identity;
  if (made?.model !== identity.model || !isSameQuestion(made, identity)) return false;
  const weights = weightsOf(begun);
  return weights !== null && checkpoint.paths.includes(weights);
}

/** Another program's result names them by their URI, if at all. */
function weightsOf({ plan, result }: BegunCell): string | null {
  if (!plan) return result && result.identity.checkpoint !== '' ? result.identity.checkpoint : null;
  const { model } = plan.request;
  return model.type === 'engine' ? (model.path ?? BASE_MODEL) : null;
}

/** Where a name is taken by something that was made otherwise, e.g. before the benchmark's version rose. */
function nameByIdentity({ checkpoint: { run, step, model }, identity }: LookedFor): string {
  const digest = digestOf([identity, model.path]).slice(0, DIGEST_LENGTH);
  return `${run.slice(0, NAME_LENGTH)}-${step}-${digest}`;
}

/** A run's own evaluation at the step, under whatever name the run gave it. */
async function findOwnEvaluation(store: string, wanted: LookedFor): Promise<CellFinding | null> {
  const { run, step, model, paths } = wanted.checkpoint;
  const place = `runs/${run}/evals/${step}`;
  for (const evaluator of (await subfolders(join(store, place))).filter(isValidName)) {
    const folder = join(store, place, evaluator);
    const measured = (await readStoredCell(folder))?.model;
    if (!measured || (measured.identity !== model.identity && !paths.includes(measured.path))) continue;
    for (const part of await resultPlaces(store, place, evaluator)) {
      const result = await loadResult(join(store, dirname(part)), basename(part));
      if (result && isThere(result, wanted) && isSameQuestion(result.identity, wanted.identity))
        return present(part, result);
    }
  }
  return null;
}

/** Where an evaluator of Inspect AI has several tasks, each has a folder in its cell. */
async function resultPlaces(store: string, place: string, evaluator: string): Promise<string[]> {
  const cell = `${place}/${evaluator}`;
  const tasks = (await subfolders(join(store, cell))).filter(isValidName);
  return [cell, ...tasks.map((task) => `${cell}/${task}`)];
}

function isThere(result: StoredResult | null, { isFinal }: Wanted): boolean {
  return result !== null && (isFinal || result.num_errors === 0);
}

function isSameQuestion(one: ResultIdentity, other: ResultIdentity): boolean {
  return identityDifferences(withoutUnset(one), withoutUnset(other)).length === 0;
}

/** A limit that nobody set is written as null, or left out. */
function withoutUnset({ sampling, ...others }: ResultIdentity): ResultIdentity {
  const set = Object.entries(sampling).filter(([, value]) => value !== null);
  return { ...others, sampling: Object.fromEntries(set) };
}

function present(place: string, result: StoredResult): CellFinding {
  return { isPresent: true, place, scores: scoresOf(summaryOf(result)) };
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

async function subfolders(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
