import path from 'node:path';
import { DomainError } from '../core/errors';
import { runIsAway } from '../stores/make-folder';
import type { RunStore } from '../stores/run-store';
import { asGoneFolder, asStoreErrorWithin } from '../stores/system-errors';

/** Where an evaluation of a run works. */
interface EvaluationPlace {
  readonly run: string;
  /** Of its cell. */
  readonly folder: string;
  /** Its run has it due; else somebody asked for it by name. */
  readonly isDue: boolean;
}

/** A folder that goes away for moments is back by then; what is missing later is missing for another reason. */
const TRIES_OF_A_FOLDER = 5;
const CODES = ['unreachable', 'superseded', 'store-full', 'unauthorized', 'session-lost'];

/** Whether an evaluation that failed is to be tried again: what it failed with is no result of its evaluator. */
export function isNotItsFault(error: unknown): boolean {
  return error instanceof DomainError && (error.retryable || CODES.includes(error.code));
}

/**
 * What a file of the store refused, or a store that is away, is the store's failure; what an evaluator's own file refused stays the
 * evaluator's.
 */
export async function placedError(
  store: RunStore,
  { run, folder, isDue }: EvaluationPlace,
  { problem, attempt }: { readonly problem: unknown; readonly attempt: number },
): Promise<unknown> {
  const refused = asStoreErrorWithin(asStoreErrorWithin(problem, store.root), path.dirname(folder));
  const inRun = asGoneFolder(asGoneFolder(refused, folder), store.runFolder(run));
  const placed = attempt < TRIES_OF_A_FOLDER ? inRun : refused;
  const error = isDue ? asDueAllTheSame(placed) : placed;
  if (isNotItsFault(error) || (await store.exists(run))) return error;
  return runIsAway(store.root, run);
}

/** What its run has due waits until `config.json` is put back, as the run itself has to; who asks by name is told at once. */
function asDueAllTheSame(error: unknown): unknown {
  if (!(error instanceof DomainError) || error.code !== 'record-changed') return error;
  return new DomainError(error.code, error.message, { retryable: true, cause: error });
}
