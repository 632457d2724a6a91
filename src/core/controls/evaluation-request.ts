import type { ControlRequest } from '../controls';
import { fieldsOf, refused, requireControlRequest } from '../controls';
import { nearestKey } from '../nearest-key';

/** Evaluators to run once, outside any schedule. */
export interface EvaluationRequest extends ControlRequest {
  /** Names; empty for all that the run has. */
  readonly evaluators: readonly string[];
  /** Step of a kept checkpoint; null for the weights as they are. */
  readonly checkpoint: number | null;
}

/** The name under which scores that were asked for stand in `scores.jsonl`. */
export const REQUESTED_SCHEDULE = 'requested';

const MAX_EVALUATORS = 100;
const MAX_NAME_LENGTH = 64;
/** Requests that wait for their step; more are a mistake of a program. */
export const MAX_WAITING_REQUESTS = 50;

export function requireEvaluationRequest(request: unknown): void {
  requireControlRequest(request);
  const { evaluators, checkpoint } = fieldsOf(request);
  requireNames(evaluators, 'evaluators');
  requireCheckpointStep(checkpoint, true);
}

export function requireNames(names: unknown, field: string): void {
  const isList = Array.isArray(names) && names.length <= MAX_EVALUATORS && names.every(isName);
  if (!isList) {
    throw refused(
      `"${field}" has to be a list of at most ${MAX_EVALUATORS} names of at most ${MAX_NAME_LENGTH} characters.`,
    );
  }
}

export function requireCheckpointStep(step: unknown, isOptional: boolean): void {
  if (isOptional && step === null) return;
  if (typeof step === 'number' && Number.isSafeInteger(step) && step >= 0) return;
  throw refused(
    `"checkpoint" has to be the step of a checkpoint, a whole number from 0 on${isOptional ? ', or null for the weights as they are' : ''}.`,
  );
}

/** The evaluators asked for, each once; refused where the run has no such one. */
export function resolveEvaluators(asked: readonly string[], known: readonly string[]): string[] {
  const list = known.join(', ') || 'none';
  const unknown = asked.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const nearest = nearestKey(unknown, known);
    const meant = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    throw refused(`Unknown evaluator "${unknown}".${meant} The run has: ${list}.`);
  }
  if (known.length === 0) throw refused('The run has no evaluators; they are named in its config.');
  return asked.length === 0 ? [...known] : [...new Set(asked)];
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && name.length > 0 && name.length <= MAX_NAME_LENGTH;
}
