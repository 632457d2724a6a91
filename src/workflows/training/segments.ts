import { ActivityFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import { TimeoutFailure } from '@temporalio/common';
import type { SegmentInput, SegmentResult } from '../../core/training-plan';
import { trainer } from '../activities';
import type { TrainingState } from './training-state';
import { forgetEvents, rememberEvent } from './training-state';

interface Attempt {
  readonly scope: CancellationScope;
  isInterrupted: boolean;
}

/** Runs the run's segments, one at a time, and lets others ask the one under way to hand over early. */
export class Segments {
  private underWay: Attempt | null = null;
  /** False from a segment's start until it has told how far it got. */
  isPositionKnown = true;

  constructor(private readonly onBoundary: () => void) {}

  get isUnderWay(): boolean {
    return this.underWay !== null;
  }

  /** Asks the segment under way to hand over after the step it collects. */
  interrupt(): void {
    if (!this.underWay) return;
    this.underWay.isInterrupted = true;
    this.underWay.scope.cancel();
  }

  /** The result is in `state` when this resolves, and changes that waited for a boundary are made. */
  async run(state: TrainingState, first: SegmentInput): Promise<SegmentResult> {
    let input = first;
    for (;;) {
      const result = await this.attempt(input);
      if (result) {
        forgetEvents(state, input.events ?? []);
        applySegment(state, result);
        this.isPositionKnown = true;
        this.onBoundary();
        return result;
      }
      // Nobody can tell what it sent: the same input sends the same again, under a newer lease.
      state.segment += 1;
      input = { ...input, segment: state.segment, isRepeat: true };
    }
  }

  /**
   * Saves where a run that stands still is. Nobody interrupts it, because what it sends takes a seq id. What it made is in
   * the result; one that waits for the service has to be repeated with the same input before anything else is sent.
   */
  async save(state: TrainingState, input: SegmentInput): Promise<SegmentResult> {
    this.isPositionKnown = false;
    const result = await trainer.runSegment(input);
    forgetEvents(state, input.events ?? []);
    if (result.waitingFor !== null) return result;
    this.isPositionKnown = true;
    state.position = result.position;
    return result;
  }

  /** Null when an interrupted segment could not hand over, because its worker was gone. */
  private async attempt(input: SegmentInput): Promise<SegmentResult | null> {
    const attempt: Attempt = { scope: new CancellationScope(), isInterrupted: false };
    this.underWay = attempt;
    this.isPositionKnown = false;
    try {
      return await attempt.scope.run(() => trainer.runSegment(input));
    } catch (error) {
      const isRunCancelled = CancellationScope.current().consideredCancelled;
      if (attempt.isInterrupted && !isRunCancelled && hasLeftNoWord(error)) return null;
      throw error;
    } finally {
      this.underWay = null;
    }
  }
}

function hasLeftNoWord(error: unknown): boolean {
  return isCancellation(error) || (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure);
}

function applySegment(state: TrainingState, result: SegmentResult): void {
  const steps = result.position.collectedThrough - state.position.collectedThrough;
  if (steps > 0 && result.seconds > 0) state.stepsPerSecond = steps / result.seconds;
  state.position = result.position;
  if (result.unaffordable) state.unaffordable = result.unaffordable;
  state.sentThrough = Math.max(
    state.sentThrough ?? -1,
    result.sentThrough ?? result.position.submittedThrough,
  );
  noteWait(state, result.waitingFor);
  if (result.waitingFor === null) {
    state.waitingFor = null;
    state.status = 'running';
  } else {
    state.waitingFor ??= { what: result.waitingFor, since: new Date().toISOString() };
    state.status = 'waiting';
  }
}

function noteWait(state: TrainingState, waitingFor: string | null): void {
  if (waitingFor !== null && state.waitingFor === null) rememberEvent(state, 'waiting', waitingFor);
  if (waitingFor === null && state.waitingFor !== null)
    rememberEvent(state, 'went on', state.waitingFor.what);
}
