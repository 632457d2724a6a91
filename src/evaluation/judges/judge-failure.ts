import { DomainError } from '../../core/errors';
import { messageOf } from '../error-message';

/** A judge failed as often as it is asked: nobody asks it again for this judgement. Names it, because the model under test is asked too. */
export class JudgeFailedError extends DomainError {
  constructor(judge: string, cause: unknown) {
    const known = cause instanceof DomainError ? cause : null;
    const { code = 'request-failed', retryable = false, category } = known ?? {};
    super(code, `judge ${judge}: ${messageOf(cause)}`, { retryable, cause, ...(category && { category }) });
  }
}

/** A failure that says nothing of the answer, e.g. that the judge is away: as it is, with the judge's name. */
export function namingJudge(judge: string, error: DomainError): DomainError {
  const { code, message, retryable, category } = error;
  const options = { retryable, cause: error, ...(category && { category }) };
  return new DomainError(code, `judge ${judge}: ${message}`, options);
}
