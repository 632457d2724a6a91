import type { ControlRequest } from '../controls';
import { requireControlRequest, fieldsOf } from '../controls';
import { requireCheckpointStep } from './evaluation-request';

/** Marks a kept checkpoint as the run's best, by a person's judgement. */
export interface PromotionRequest extends ControlRequest {
  /** Its step. */
  readonly checkpoint: number;
}

/** `best.json`: the checkpoint somebody promoted last. */
export interface Promotion {
  readonly step: number;
  readonly name: string;
  readonly state_path: string | null;
  readonly sampler_path: string | null;
  readonly at: string;
  readonly by: string;
  readonly reason: string;
}

export function requirePromotionRequest(request: unknown): void {
  requireControlRequest(request);
  requireCheckpointStep(fieldsOf(request)['checkpoint'], false);
}
