import { DomainError } from '../../core/errors';

/** Services have no codes for these, only words. */
const FULL =
  /max(imum)?\.? (number|count) of [\w -]*(models?|adapters?)|too many [\w -]*(models|adapters|sessions)|(models?|adapters?) (limit|quota)\b[^.]*(reached|exceeded)|no (free|available) [\w ]*(slots?|adapters?|capacity)|(out of|at|insufficient|no) (gpu )?(capacity|memory)\b/i;
const DAMAGED =
  /\b(damaged|corrupt(ed)?)\b|checksum|unexpected end of (file|data)|(incomplete|truncated) (archive|file|metadata|header)|invalid (safetensors )?header|header ?too ?(large|small)|incomplete ?metadata/i;

/** What a service's refusal to open a model means: no room for now, a checkpoint that is of no use, or neither. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof DomainError) || error.code !== 'request-failed') return error;
  const { message } = error;
  if (FULL.test(message)) {
    return new DomainError(
      'engine-busy',
      `${message} The run goes on when there is room: let other runs end, or unload models that nobody needs.`,
      { retryable: true, cause: error },
    );
  }
  return DAMAGED.test(message) ? new DomainError('checkpoint-damaged', message, { cause: error }) : error;
}
