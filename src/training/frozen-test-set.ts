import path from 'node:path';
import type { EvaluatorConfig } from '../config/evaluation-config';
import { resolveEvaluations } from './resolve-evaluations';
import type { RunRecord } from './run-folder';
import { testDataPath } from './run-folder';

type Recorded = Pick<RunRecord, 'config' | 'evaluators'>;

/** The test split in the run's folder, which may be moved: `config.json` says where in that it lies. */
const PLACE = testDataPath('.');

/** Evaluators as they are recorded: the test split that a run froze is named by its place in the run's folder. */
export function recordedEvaluators({ config, evaluators }: Recorded): RunRecord['evaluators'] {
  const entries = Object.entries(evaluators);
  return Object.fromEntries(
    entries.map(([name, evaluator]) => [name, withTestSetAt(PLACE, { config, name, evaluator })]),
  );
}

/**
 * An evaluator of a run as it is measured: the test split that the run froze is read from the run's folder where that is now.
 * Releases before recorded where it was when the run was prepared.
 */
export function presentEvaluator(
  { config, evaluators }: Recorded,
  name: string,
  runFolder: string,
): EvaluatorConfig | null {
  const evaluator = evaluators[name];
  return evaluator ? withTestSetAt(testDataPath(runFolder), { config, name, evaluator }) : null;
}

interface NamedEvaluator extends Pick<Recorded, 'config'> {
  readonly name: string;
  readonly evaluator: EvaluatorConfig;
}

function withTestSetAt(place: string, { config, name, evaluator }: NamedEvaluator): EvaluatorConfig {
  if (evaluator.type !== 'nll' || !isFrozen(evaluator.dataset.path) || isAsked(config, name))
    return evaluator;
  return { ...evaluator, dataset: { ...evaluator.dataset, path: place } };
}

function isFrozen(file: unknown): boolean {
  return typeof file === 'string' && (file === PLACE || file.endsWith(path.sep + PLACE));
}

/** The config names it itself: whatever its file is called, it is none that the run froze. */
function isAsked(config: RunRecord['config'], name: string): boolean {
  return Object.hasOwn(resolveEvaluations(config, 'unknown').evaluators, name);
}
