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
