import { DomainError } from '../core/errors';
import type { SegmentInput, TrainingPosition } from '../core/training-plan';
import type { SubmittedStep } from './step-requests';

const WAITED_FOR: readonly string[] = ['unreachable', 'store-full'];

/** What a segment was about when something stopped it. */
interface Interruption {
  /** A request was on its way to a service that would compute a resent one twice. */
  readonly mayHaveSent: boolean;
  /** A save between two steps is under way, which is done whole or not at all. */
  readonly isSavingHere: boolean;
  /** The segment was asked to end, or waits for something that its run shows. */
  readonly isAsked: boolean;
}

/**
 * Why a segment ended before its work was done.
 *
 * What was collected counts, whatever stopped the segment: a model that is gone is the run's to open again; a
 * service that is away or without room, and a full disk, are the run's to wait for.
 */
export class SegmentEnd {
  /** Why the model's state is not known any more; null where it is. */
  lost: string | null = null;
  /** What has to come back before training can go on. */
  unreachable: string | null = null;

  /** False for an error that is the segment's own. */
  canHandOver(error: unknown, { mayHaveSent, isSavingHere, isAsked }: Interruption): boolean {
    if (error instanceof DomainError && error.code === 'session-lost') {
      this.lost = error.message;
      return true;
    }
    if (mayHaveSent) {
      this.lost =
        'The service may or may not have taken a request, and would compute it twice if it were resent.';
      return true;
    }
    if (isSavingHere) return false;
    // What was submitted is collected by its promise, whoever collects it.
    if (isAsked) return true;
    if (!(error instanceof DomainError) || !WAITED_FOR.includes(error.code)) return false;
    this.unreachable = error.message;
    return true;
  }
}

/** Sampling them again ends it, unless those who sample write to another store than the one that is read here. */
export function lackingReason(step: number | null): string | null {
  return step === null
    ? null
    : `Rollouts of step ${step} were sampled, and are not all in the store of the worker that trains. Those that are gone are ` +
        'sampled again. Where this stays, start all workers with the --store the run was started with.';
}

/** As many tokens are trained on as people are to be told of. */
export function hasReachedTokens(
  { handOverAtTokens = Infinity, position }: SegmentInput,
  { tokens }: TrainingPosition,
): boolean {
  return position.tokens < handOverAtTokens && tokens >= handOverAtTokens;
}

/** Where training stands, with what is in flight for the next segment to collect. */
export function positionWith(position: TrainingPosition, queue: readonly SubmittedStep[]): TrainingPosition {
  const last = queue.at(-1)?.planned;
  return {
    ...position,
    submittedThrough: last?.step ?? position.collectedThrough,
    tokensSubmitted: last?.tokensAfter ?? position.tokens,
    inFlight: queue.map(({ planned, requestIds }) => ({ step: planned.step, requestIds })),
  };
}
