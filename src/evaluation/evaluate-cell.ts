import type { EvaluatorConfig } from '../config/evaluation-config';
import type { CellScore } from '../core/run';
import type { CellWork, EvaluationDependencies } from './evaluators/evaluation-context';
import { evaluateBenchmark, evaluateCustom } from './evaluators/graded-cell';
import { evaluateNll } from './evaluators/nll';
import { evaluatePlugin } from './evaluators/plugin-evaluator';
import { readStoredCell, storeCell } from './stored-cell';
import { samplerInTurns } from './turns';

export type EvaluateCellInput = CellWork & { readonly evaluator: EvaluatorConfig };

/**
 * Runs one evaluator on one snapshot and stores its scores.
 *
 * A cell is scored exactly once: asked again, it answers with what is stored. A repeated attempt goes on from the
 * cell's journal and pays for nothing twice; the attempt before it is shut out.
 */
export async function evaluateCell(
  dependencies: EvaluationDependencies,
  input: EvaluateCellInput,
): Promise<readonly CellScore[]> {
  const stored = await readStoredCell(input.folder);
  if (stored) return stored.scores;
  const sampler = samplerInTurns(dependencies.sampler);
  const scores = await runEvaluator({ ...dependencies, sampler }, input);
  input.signal.throwIfAborted();
  const cell = await storeCell(input.folder, { scores, at: new Date().toISOString(), model: input.model });
  return cell.scores;
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
    case 'plugin':
      return evaluatePlugin(dependencies, evaluator, input);
  }
}
