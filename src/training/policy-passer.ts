import { DomainError } from '../core/errors';
import type { PolicyPassing } from '../core/training-plan';
import type { SegmentDependencies } from './segment-contract';
import type { PlannedStep } from './step-plan';
import type { StepAnswers } from './step-requests';

/** Passes the weights of a segment's steps on to the samplers that wait for them, as far as they may be sampled from. */
export class PolicyPasser {
  /** The step of the newest weights passed on. */
  passedOn: number | null = null;

  constructor(
    private readonly passing: PolicyPassing | undefined,
    private readonly pass: SegmentDependencies['passPolicy'],
  ) {}

  /** After the step's row is written, so that an attempt that was overtaken passes nothing on. */
  async offer(
    { step, checkpoint, isBlocking }: Pick<PlannedStep, 'step' | 'checkpoint' | 'isBlocking'>,
    { samplerPath }: Pick<StepAnswers, 'samplerPath'>,
  ): Promise<void> {
    const { passing } = this;
    // What a blocking evaluation finds may change what comes next.
    if (!passing || samplerPath === null || isBlocking || step > passing.throughStep) return;
    const isCheckpoint = isKept(checkpoint);
    try {
      await this.pass?.({ step, samplerPath, isCheckpoint, generation: passing.generation });
      this.passedOn = step;
    } catch (error) {
      // The workflow has the samplers told another way.
      if (!(error instanceof DomainError)) throw error;
    }
  }
}

function isKept(checkpoint: PlannedStep['checkpoint']): boolean {
  return checkpoint?.kind === 'periodic' || checkpoint?.kind === 'final';
}
