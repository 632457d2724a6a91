import type { EvaluatorConfig } from '../config/evaluation-config';
import { DomainError } from '../core/errors';
import { MOST_METRICS } from '../core/metric-names';
import type { CellScore } from '../core/run';
import type { HubRows } from './benchmarks/benchmark';
import { cellMaking, refuseOtherCell } from './cell-making';
import { digestOf } from './digest';
import type { CellWork, EvaluationDependencies } from './evaluators/evaluation-context';
import { evaluateCustom } from './evaluators/custom';
import { evaluateBenchmark } from './evaluators/graded-cell';
import { evaluateInspect } from './evaluators/inspect';
import { evaluateKindCell } from './evaluators/kind-cell';
import { evaluateComparison } from './evaluators/comparison';
import { evaluateModelGraded } from './evaluators/model-graded';
import { evaluateNll } from './evaluators/nll';
import { evaluatePlugin } from './evaluators/plugin-evaluator';
import { evaluateInPython } from './python/python-evaluator';
import { readStoredCell, storeCell } from './stored-cell';
import { samplerInTurns } from './turns';

export type EvaluateCellInput = CellWork & {
  readonly evaluator: EvaluatorConfig;
  /** Somebody asks for it now, beside the run: what is stored must be made as it would be now. */
  readonly isAskedByName?: boolean;
};

const MOST_SCORES = 2 * MOST_METRICS;

/**
 * Runs one evaluator on one snapshot and stores its scores.
 *
 * A cell is scored exactly once: asked again, it answers with what is stored. One that somebody asks for by name is refused where
 * that was made otherwise; in a training run, a score says what was measured then. A repeated attempt goes on from the
 * cell's journal and pays for nothing twice; the attempt before it is shut out.
 */
export async function evaluateCell(
  dependencies: EvaluationDependencies,
  input: EvaluateCellInput,
): Promise<readonly CellScore[]> {
  const stored = await readStoredCell(input.folder);
  if (stored && input.isAskedByName)
    refuseOtherCell(stored, input, await cellMaking(dependencies, input.evaluator));
  if (stored) return stored.scores;
  const data = dataReadOnce(dependencies);
  const sampler = samplerInTurns(dependencies.sampler);
  const scores = await runEvaluator({ ...dependencies, ...data, sampler }, input);
  input.signal.throwIfAborted();
  requireFew(scores, input.name);
  const cell = await storeCell(input.folder, {
    ...{ scores, at: new Date().toISOString(), model: input.model },
    madeFrom: await cellMaking({ ...dependencies, ...data }, input.evaluator),
  });
  return cell.scores;
}

/** Every score is a row of its run, and goes through its workflow. */
function requireFew({ length }: readonly CellScore[], evaluator: string): void {
  if (length <= MOST_SCORES) return;
  throw new DomainError(
    'bad-plugin',
    `Evaluator "${evaluator}" has ${length} scores, more than ${MOST_SCORES}: what it measures names metrics or tags of its own for single examples. Put what is told of those into logs.`,
  );
}

/** What was scored is what the cell is told by, also where a file changes meanwhile. */
function dataReadOnce({ loadDataset, readBenchmarkRows }: EvaluationDependencies) {
  return {
    loadDataset: onceByKey(loadDataset, digestOf),
    readBenchmarkRows: onceByKey(
      (benchmark: string, data: HubRows) => readBenchmarkRows(benchmark, data),
      (benchmark) => benchmark,
    ),
  };
}

function onceByKey<Given extends unknown[], Result>(
  read: (...given: Given) => Promise<Result>,
  keyOf: (...given: Given) => string,
): (...given: Given) => Promise<Result> {
  const known = new Map<string, Promise<Result>>();
  return (...given) => {
    const key = keyOf(...given);
    const reading = known.get(key) ?? read(...given);
    known.set(key, reading);
    return reading;
  };
}

function runEvaluator(dependencies: EvaluationDependencies, input: EvaluateCellInput): Promise<CellScore[]> {
  const { evaluator } = input;
  switch (evaluator.type) {
    case 'nll':
      return evaluateNll(dependencies, evaluator, input);
    case 'benchmark':
      return evaluateBenchmark(dependencies, evaluator, input);
    case 'custom':
      return evaluateCustom(dependencies, evaluator, input);
    case 'modelGraded':
      return evaluateModelGraded(dependencies, evaluator, input);
    case 'comparison':
      return evaluateComparison(dependencies, evaluator, input);
    case 'kind':
      return evaluateKindCell(dependencies, evaluator, input);
    case 'rlTestSet':
      return requireTestSet(dependencies)(evaluator, { ...input, sampler: dependencies.sampler });
    default:
      return runForeign(dependencies, evaluator, input);
  }
}

type ForeignConfig = Extract<EvaluatorConfig, { type: 'plugin' | 'inspect' | 'python' }>;

/** Evaluators whose code is not ours. */
function runForeign(
  dependencies: EvaluationDependencies,
  evaluator: ForeignConfig,
  input: EvaluateCellInput,
): Promise<CellScore[]> {
  switch (evaluator.type) {
    case 'plugin':
      return evaluatePlugin(dependencies, evaluator, input);
    case 'inspect':
      return evaluateInspect(dependencies, evaluator, input);
    case 'python':
      return evaluateInPython(dependencies, evaluator, input);
  }
}

function requireTestSet({
  evaluateTestSet,
}: EvaluationDependencies): NonNullable<EvaluationDependencies['evaluateTestSet']> {
  if (evaluateTestSet) return evaluateTestSet;
  throw new DomainError(
    'bad-config',
    'evaluators: rlTestSet measures the environments of a reinforcement run, and this run has none. Leave it out.',
  );
}
