import { fieldsOf } from './controls';
import { CELL_OMISSIONS } from './run';

/** Whoever reaches the Temporal server can signal a workflow with anything; one that throws for it has failed for good. */

/** Whether a signal `evaluationFinished` is of the promised shape. */
export function isEvaluationFinished(told: unknown): boolean {
  const { step, request, late, part, cells } = fieldsOf(told);
  return (
    isCount(step) &&
    (request === undefined || isCount(request)) &&
    isTextOrNone(late) &&
    isTextOrNone(part) &&
    isListOf(cells, isCellResult)
  );
}

/** Whether a signal `cancelEvaluators` is of the promised shape. */
export function isCancelEvaluators(told: unknown): boolean {
  const { evaluators, reason } = fieldsOf(told);
  return typeof reason === 'string' && isListOf(evaluators, (name) => typeof name === 'string');
}

function isCellResult(value: unknown): boolean {
  const { evaluator, scores, at, error, omission, attempt } = fieldsOf(value);
  return (
    typeof evaluator === 'string' &&
    typeof at === 'string' &&
    isTextOrNone(error) &&
    (attempt === undefined || isCount(attempt)) &&
    (omission === undefined || CELL_OMISSIONS.some((known) => known === omission)) &&
    isListOf(scores, isCellScore)
  );
}

function isCellScore(score: unknown): boolean {
  const { metric, key, value, stderr, n } = fieldsOf(score);
  return (
    typeof metric === 'string' &&
    typeof key === 'string' &&
    isNumberOrNull(value) &&
    isNumberOrNull(stderr) &&
    isCount(n)
  );
}

function isListOf(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isNumberOrNull(value: unknown): boolean {
  return value === null || typeof value === 'number';
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
