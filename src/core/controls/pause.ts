import type { ControlBounds, SteppedRequest } from '../controls';
import { fieldsOf, isPositive, refused, requireAtStep, requireControlRequest, tooLate } from '../controls';

/** What happens when a pause has lasted as long as it was meant to. */
export type PauseEnding = 'resume' | 'stop';

export interface PauseRequest extends SteppedRequest {
  /** How long it lasts, from the moment the run stands still; null until somebody resumes it. */
  readonly seconds: number | null;
  readonly then: PauseEnding;
}

/** A pause somebody asked for, begun or not. */
export interface Pause {
  /** Last step trained before it. */
  readonly step: number;
  readonly seconds: number | null;
  readonly then: PauseEnding;
  readonly by: string;
  readonly reason: string;
}

/** Ten years: longer is a mistake. */
export const MAX_PAUSE_SECONDS = 315_360_000;

export function requirePauseRequest(request: unknown): void {
  requireControlRequest(request);
  requireAtStep(request, 0);
  const { seconds, then } = fieldsOf(request);
  if (seconds !== null && !isPositive(seconds, MAX_PAUSE_SECONDS)) {
    throw refused(
      `"seconds" has to be a number above 0 and at most ${MAX_PAUSE_SECONDS}, or null for a pause without an end.`,
    );
  }
  if (then !== 'resume' && then !== 'stop') throw refused('"then" has to be "resume" or "stop".');
}

/** The last step trained before the pause; steps that were sent are finished first. */
export function resolvePause({ atStep }: PauseRequest, bounds: ControlBounds): number {
  const { sentThrough, lastStep } = bounds;
  const earliest = Math.max(0, sentThrough);
  if (sentThrough >= lastStep) throw tooLate(lastStep);
  if (atStep === null) return earliest;
  if (atStep < earliest) {
    throw refused(
      `Step ${atStep} is past or under way; the earliest step to pause after is ${earliest}. Leave the step out to pause as early as possible.`,
    );
  }
  if (atStep >= lastStep)
    throw refused(`The run ends after step ${lastStep}. Give an earlier step to pause after.`);
  return atStep;
}
