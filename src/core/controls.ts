import { DomainError } from './errors';

/** One row of `controls.jsonl`: a change somebody made while the run went on. */
export interface ControlRow {
  readonly at: string;
  readonly by: string;
  readonly reason: string;
  /** First step the change affects; for a stop or a pause the last step trained before it. */
  readonly step: number;
  readonly control: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Who asks for a change, and why. */
export interface ControlRequest {
  readonly by: string;
  readonly reason: string;
}

export interface StopRequest extends ControlRequest {
  /** Last step to train; null for the earliest that is possible. */
  readonly atStep: number | null;
}

/** A change in the order of the run's steps: from which one on, or null for the earliest that is possible. */
export interface SteppedRequest extends ControlRequest {
  readonly atStep: number | null;
}

/** What a change that was accepted comes to. */
export interface ControlReceipt {
  readonly control: string;
  readonly step: number;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Steps that a change can still reach. */
export interface ControlBounds {
  /** Requests of steps up to this one may be at the service already. */
  readonly sentThrough: number;
  /** Last step the run would train as things stand. */
  readonly lastStep: number;
  readonly totalSteps: number;
}

export const MAX_REASON_LENGTH = 2000;
const MAX_NAME_LENGTH = 200;

/** Refuses a request that is not of the promised shape: it may come from any client of the server. */
export function requireControlRequest(request: unknown): void {
  const { by, reason } = fieldsOf(request);
  if (typeof by !== 'string' || by.length > MAX_NAME_LENGTH) {
    throw refused(`"by" has to be a text of at most ${MAX_NAME_LENGTH} characters: who asks for the change.`);
  }
  if (typeof reason !== 'string' || reason.length > MAX_REASON_LENGTH) {
    throw refused(`"reason" has to be a text of at most ${MAX_REASON_LENGTH} characters.`);
  }
}

export function requireStopRequest(request: unknown): void {
  requireControlRequest(request);
  requireAtStep(request, 1);
}

export function requireAtStep(request: unknown, least: 0 | 1): void {
  const { atStep } = fieldsOf(request);
  if (atStep !== null && !isStep(atStep, least)) {
    throw refused(`"atStep" has to be a whole number from ${least} on, or null for now.`);
  }
}

/** The first step that a change of how steps are trained affects. */
export function resolveFirstStep({ atStep }: SteppedRequest, bounds: ControlBounds): number {
  const { sentThrough, lastStep } = bounds;
  const earliest = Math.max(1, sentThrough + 1);
  if (sentThrough >= lastStep) throw tooLate(lastStep);
  if (atStep === null) return earliest;
  if (atStep < earliest) {
    throw refused(
      `Step ${atStep} is past or under way; the earliest step that can be changed is ${earliest}. Leave the step out to take that one.`,
    );
  }
  if (atStep > lastStep) throw refused(`The run ends after step ${lastStep}. Give an earlier step.`);
  return atStep;
}

/** The step a stop takes effect at: no step is cut off half-way, and none that was sent is taken back. */
export function resolveStop({ atStep }: StopRequest, bounds: ControlBounds): number {
  const { sentThrough, lastStep, totalSteps } = bounds;
  const earliest = Math.max(1, sentThrough + 1);
  if (sentThrough >= lastStep) throw tooLate(lastStep);
  if (atStep === null) return Math.min(earliest, totalSteps);
  if (atStep < earliest) {
    throw refused(
      `Step ${atStep} is past or under way; the earliest step to stop at is ${earliest}. Leave the step out to stop as early as possible.`,
    );
  }
  if (atStep === totalSteps && lastStep === totalSteps) {
    throw refused(`It ends after step ${totalSteps} by itself. Give an earlier step.`);
  }
  if (atStep > totalSteps) {
    throw refused(`Step ${atStep} is beyond the run's ${totalSteps} steps. Give an earlier one.`);
  }
  return atStep;
}

export function tooLate(lastStep: number): DomainError {
  return refused(
    `Its last steps, up to ${lastStep}, are trained or under way already; it ends once they and its evaluations have.`,
  );
}

function isStep(value: unknown, least: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
}

/** Not copied: a signal may have hundreds of thousands of them. */
export function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return hasFields(value) ? value : {};
}

function hasFields(value: unknown): value is Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

export function isPositive(value: unknown, most: number): value is number {
  return typeof value === 'number' && value > 0 && value <= most;
}

export function refused(message: string): DomainError {
  return new DomainError('refused', message);
}
