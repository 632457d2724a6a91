/** A step is evaluated once for its schedules, once more for each that had to wait, and for each time somebody asks. */
interface EvaluationIdentity {
  readonly step: number;
  readonly request?: number;
  /** The schedule that waited for an earlier evaluation of its own. */
  readonly late?: string;
}

export function isSameEvaluation(one: EvaluationIdentity, other: EvaluationIdentity): boolean {
  return one.step === other.step && one.request === other.request && one.late === other.late;
}

/** What tells an evaluation from others, without the rest of what is known of it. */
export function identityOf({ step, request, late }: EvaluationIdentity): EvaluationIdentity {
  return { step, ...(request !== undefined && { request }), ...(late !== undefined && { late }) };
}
