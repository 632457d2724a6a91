import { basename, dirname, join, relative, resolve } from 'node:path';
import { isValidName } from '../core/names';

/** What a training run was evaluated to at one step: `<store>/runs/<run>/evals/<step>`. */
export interface EvaluatedStep {
  readonly run: string;
  readonly step: number;
  readonly runFolder: string;
}

/** Of a folder in whichever store; null for every other folder. */
export function evaluatedStepOf(folder: string): EvaluatedStep | null {
  const runFolder = dirname(dirname(resolve(folder)));
  const [run, step] = [basename(runFolder), basename(folder)];
  const isPlaced = basename(dirname(resolve(folder))) === 'evals' && basename(dirname(runFolder)) === 'runs';
  return isPlaced && /^\d{1,12}$/.test(step) && isValidName(run)
    ? { run, step: Number(step), runFolder }
    : null;
}

/** The same, null also for folders of other stores. */
export function evaluatedStepIn(store: string, folder: string): EvaluatedStep | null {
  const place = evaluatedStepOf(folder);
  return place && relative(join(store, 'runs', place.run), place.runFolder) === '' ? place : null;
}
