import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { isValidName } from '../core/names';
import { nearestKey } from '../core/nearest-key';
import { requirePromotion } from './checkpoint-name';
import { isDueAt } from './due-at-step';
import { nearestStep, readSampledSteps } from './sampled-steps';
import { readJsonIfThere } from './whole-file';

/** Where results lie that somebody named. */
export interface EvalPlace {
  /** The name they were asked for by. */
  readonly label: string;
  /** Holds `<benchmark>/result.json`. */
  readonly folder: string;
  /** The only benchmark meant, where the folder of one was named. */
  readonly benchmark: string | null;
  /** Later steps of the run that were evaluated without a result; absent where no step was to be found. */
  readonly passedOver?: readonly number[];
}

export interface BenchmarkFolders {
  /** With a result. */
  readonly finished: readonly string[];
  /** With trajectories or a journal, but no result yet. */
  readonly unfinished: readonly string[];
  /** Cells of a training run's nll evaluators: no benchmark, but what each example adds to the loss is stored. */
  readonly likelihoods: readonly string[];
  /** Evaluators whose scores are there and no benchmark, those of `likelihoods` among them. */
  readonly cells: readonly string[];
}

/** In the cell of an nll evaluator: a row an example. */
export const LIKELIHOODS_FILE = join('journal', 'likelihoods.jsonl');

/**
 * Finds results by what a person calls them: a folder; the name of an eval run; RUN@STEP or RUN@best, what a training run was
 * evaluated to at a step, by itself or else by one eval run; or RUN, its last step with a benchmark's result, else with a loss.
 *
 * A text with a slash is a folder. Any other is looked up in the store first, and a name that means two things there is
 * refused.
 */
export async function locateResults(text: string, store: string | null): Promise<EvalPlace> {
  const place = isPath(text) ? null : await locateInStore(text, store);
  return place ?? (await locateFolder(text)) ?? (await refuseUnknown(text, store));
}

/** Benchmarks of a folder by name. */
export async function listBenchmarks(folder: string): Promise<BenchmarkFolders> {
  const names = (await subfolders(folder)).filter((name) => !name.startsWith('.'));
  const finished: string[] = [];
  const unfinished: string[] = [];
  const likelihoods: string[] = [];
  const cells: string[] = [];
  for (const name of names.sort()) {
    const has = (file: string) => isThere(join(folder, name, file));
    if (await has('result.json')) finished.push(name);
    // A loss of a training run leaves a cell without trajectories: it is finished, and no benchmark.
    else if (await has('cell.json')) {
      cells.push(name);
      if (await has(LIKELIHOODS_FILE)) likelihoods.push(name);
    } else if ((await has('trajectories.jsonl')) || (await has('journal'))) unfinished.push(name);
  }
  return { finished, unfinished, likelihoods, cells };
}

function isPath(text: string): boolean {
  return text.includes('/') || text === '.' || text === '..';
}

async function locateInStore(text: string, store: string | null): Promise<EvalPlace | null> {
  if (store === null || store.includes('://')) return null;
  const [name, step] = splitStep(text);
  // What is no name could leave the store, and names nothing in it.
  if (!isValidName(name)) return null;
  const runFolder = join(store, 'runs', name);
  const isRun = await exists(runFolder);
  if (step !== undefined) return locateStep(text, { name, runFolder: isRun ? runFolder : null, step, store });
  const evalFolder = join(store, 'evals', name);
  const isEvalRun = await exists(evalFolder);
  if (isEvalRun && isRun) {
    throw new DomainError(
      'bad-config',
      `"${text}" is an eval run and a training run in ${store}. Name the folder ${evalFolder}, or ${name}@STEP.`,
    );
  }
  if (isEvalRun) return { label: text, folder: evalFolder, benchmark: null };
  return isRun ? { label: text, benchmark: null, ...(await lastEvaluated(name, runFolder)) } : null;
}

function splitStep(text: string): [name: string, step?: string] {
  const at = text.lastIndexOf('@');
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

interface StepOfRun {
  readonly name: string;
  /** null where the store has evaluations of it alone. */
  readonly runFolder: string | null;
  readonly step: string;
  readonly store: string;
}

/** What the run itself was evaluated to, else what `everstep eval --checkpoint RUN@STEP` gave, where that is one eval run. */
async function locateStep(label: string, asked: StepOfRun): Promise<EvalPlace | null> {
  const { name, runFolder } = asked;
  const step = { ...asked, step: await stepOf(asked) };
  if (!/^\d{1,12}$/.test(step.step)) {
    if (runFolder === null) return null;
    throw new DomainError(
      'bad-config',
      `"${label}" names no step. Write RUN@STEP or RUN@best, e.g. ${name}@100.`,
    );
  }
  const own = await ownEvaluation(step);
  if (own?.hasBenchmark) return { label, folder: own.folder, benchmark: null };
  const folder = (await onlyEvalRun(label, step)) ?? own?.folder;
  if (folder !== undefined) return { label, folder, benchmark: null };
  if (runFolder !== null) await refuseStep(label, runFolder, step);
  return null;
}

/** The best is a step too, as the run's folder says. */
async function stepOf({ name, runFolder, step }: StepOfRun): Promise<string> {
  if (step !== 'best' || runFolder === null) return step;
  return String((await requirePromotion(name, runFolder)).step);
}

async function ownEvaluation({ runFolder, step }: StepOfRun) {
  if (runFolder === null) return null;
  const folder = join(runFolder, 'evals', String(Number(step)));
  if (!(await exists(folder))) return null;
  return { folder, hasBenchmark: await hasBenchmark(folder) };
}

/** Held-out rollouts have a result too, but what somebody asked for by name comes before what every run has. */
async function hasBenchmark(folder: string): Promise<boolean> {
  for (const name of (await listBenchmarks(folder)).finished) {
    if (!(await exists(join(folder, name, 'rollouts')))) return true;
  }
  return false;
}

async function onlyEvalRun(label: string, { name, step, store }: StepOfRun): Promise<string | undefined> {
  const [only, ...others] = await evalRunsOf(store, `${name}@${Number(step)}`);
  if (only === undefined || others.length === 0) return only;
  const names = [only, ...others].map((folder) => basename(folder)).join(', ');
  throw new DomainError(
    'bad-config',
    `"${label}" was evaluated in several eval runs: ${names}. Name one of them.`,
  );
}

async function refuseStep(label: string, runFolder: string, { name, step }: StepOfRun): Promise<never> {
  if (await isDueAt(runFolder, Number(step)))
    throw new DomainError(
      'unknown-run',
      `The evaluation of run "${name}" at step ${Number(step)} is due and has written nothing yet. Look at it with: everstep runs evaluations ${name}`,
    );
  const known = await evaluatedSteps(runFolder);
  const evaluated = known.length > 0 ? `Evaluated: ${known.join(', ')}.` : 'No step is evaluated.';
  const remedy = remedyFor(label, await readSampledSteps(runFolder), { name, step: Number(step) });
  throw new DomainError(
    'unknown-run',
    `Run "${name}" has no evaluation at step ${step}. ${evaluated} ${remedy}`,
  );
}

/** Steps without weights cannot be evaluated any more. */
function remedyFor(
  label: string,
  sampled: readonly number[] | null,
  { name, step }: { readonly name: string; readonly step: number },
): string {
  if (sampled === null || sampled.includes(step))
    return `Evaluate it with: everstep eval NAME --checkpoint ${label}`;
  const nearest = nearestStep(sampled, step);
  if (nearest === undefined) return 'No weights of the run are kept that could be evaluated.';
  return `Its weights are not kept; those of these steps are: ${sampled.join(', ')}. Evaluate one with: everstep eval NAME --checkpoint ${name}@${nearest}`;
}

/** Folders of eval runs of a checkpoint that have a result. */
async function evalRunsOf(store: string, checkpoint: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await subfolders(join(store, 'evals'))).filter(isValidName).sort()) {
    const folder = join(store, 'evals', name);
    const metadata = await readJsonIfThere<{ checkpoint_name?: unknown }>(join(folder, 'metadata.json'));
    if (metadata?.checkpoint_name !== checkpoint) continue;
    if ((await listBenchmarks(folder)).finished.length > 0) found.push(folder);
  }
  return found;
}

/** Benchmarks come before what every run has: held-out rollouts, then losses. */
async function lastEvaluated(
  name: string,
  runFolder: string,
): Promise<Required<Pick<EvalPlace, 'folder' | 'passedOver'>>> {
  const steps = (await evaluatedSteps(runFolder)).reverse();
  const folders = steps.map((step) => join(runFolder, 'evals', String(step)));
  const holds = [
    hasBenchmark,
    async (folder: string) => (await listBenchmarks(folder)).finished.length > 0,
    async (folder: string) => (await listBenchmarks(folder)).likelihoods.length > 0,
  ];
  for (const isWanted of holds) {
    for (const [index, folder] of folders.entries()) {
      if (await isWanted(folder)) return { folder, passedOver: steps.slice(0, index).reverse() };
    }
  }
  throw new DomainError(
    'unknown-run',
    `Run "${name}" has no evaluation with examples at any step. Wait for its first, or evaluate a checkpoint with: everstep eval NAME --checkpoint ${name}@STEP. ` +
      'Evaluators of plug-ins leave no examples to pair: `everstep runs compare A B` compares their values.',
  );
}

async function evaluatedSteps(runFolder: string): Promise<number[]> {
  const names = (await subfolders(join(runFolder, 'evals'))).filter((name) => /^\d+$/.test(name));
  return names.map(Number).sort((left, right) => left - right);
}

async function locateFolder(text: string): Promise<EvalPlace | null> {
  const folder = resolve(text);
  if (!(await isFolder(folder))) return null;
  const isBenchmark =
    (await exists(join(folder, 'result.json'))) ||
    (await exists(join(folder, 'trajectories.jsonl'))) ||
    (await exists(join(folder, LIKELIHOODS_FILE)));
  if (!isBenchmark) return { label: text, folder, benchmark: null };
  return { label: text, folder: dirname(folder), benchmark: basename(folder) };
}

async function refuseUnknown(text: string, store: string | null): Promise<never> {
  const where =
    store === null
      ? ''
      : store.includes('://')
        ? `; the store ${store} cannot be read from here`
        : ` in ${store}`;
  const isFile = await exists(resolve(text));
  throw new DomainError(
    'unknown-run',
    isFile
      ? `${text} is a file. Name the folder that holds <benchmark>/result.json.`
      : `There is no folder ${text}, and no eval run or training run of that name${where}.${await meantText(text, store)} List them with: everstep results list, everstep runs list`,
  );
}

/** A name that was mistyped is near the one that was meant. */
async function meantText(text: string, store: string | null): Promise<string> {
  if (store === null || store.includes('://') || isPath(text)) return '';
  const known = await Promise.all(['runs', 'evals'].map((kind) => subfolders(join(store, kind))));
  const [name, step] = splitStep(text);
  const meant = nearestKey(name, known.flat().filter(isValidName));
  if (meant === undefined) return '';
  return ` Did you mean "${meant}${step === undefined ? '' : `@${step}`}"?`;
}

async function subfolders(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map(({ name }) => name);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return [];
    throw error;
  }
}

/** In lists, what leads nowhere is passed over. */
async function isThere(path: string): Promise<boolean> {
  return exists(path).catch((error: unknown) => {
    if (error instanceof DomainError) return false;
    throw error;
  });
}

async function isFolder(path: string): Promise<boolean> {
  return (await statOf(path))?.isDirectory() ?? false;
}

async function exists(path: string): Promise<boolean> {
  return (await statOf(path)) !== null;
}

async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return null;
    if (!hasErrorCode(error, 'ELOOP')) throw error;
    throw new DomainError(
      'store-conflict',
      `${path} is a link that leads back to itself, or lies behind one. Move the link away, and put back what it should lead to.`,
    );
  }
}
