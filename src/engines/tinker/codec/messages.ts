/** What both codecs carry, as plain types. */
import type { Datum } from '../../../core/datum';
import { DomainError } from '../../../core/errors';
import type { SampleRequest } from '../../../core/sampling';

export interface ForwardBackwardRequest {
  readonly modelId: string;
  /** 0 where the sender gave none. */
  readonly seqId: number;
  readonly data: readonly Datum[];
  /** As sent: the server decides which it knows. */
  readonly lossFn: string;
  readonly lossFnConfig: Readonly<Record<string, number>>;
  /** Log-probs only; gradients stay as they are. */
  readonly forwardOnly: boolean;
}

/** The body of `asample`, which is JSON in every generation of the protocol. */
export interface AsampleRequest {
  readonly samplingSessionId: string | null;
  readonly modelPath: string | null;
  readonly baseModel: string | null;
  /** null where the sender gave none. */
  readonly seqId: number | null;
  readonly request: SampleRequest;
}

/**
 * Refuses a datum whose tensors differ in length from its tokens or hold numbers the wire cannot carry.
 * Servers exist that silently cut a longer tensor, so both ends check.
 */
export function checkDatum(datum: Datum, index: number): void {
  const { tokens, targetsPerPosition = 1 } = datum;
  if (tokens.length === 0) throw refused(`datum ${index} has no tokens`);
  const length = tokens.length * targetsPerPosition;
  const expected =
    targetsPerPosition === 1
      ? `model_input length ${tokens.length}`
      : `that of ${targetsPerPosition} targets for each of ${tokens.length} tokens`;
  if (datum.targetTokens.length !== length) {
    throw refused(
      `datum ${index}: target_tokens length ${datum.targetTokens.length} differs from ${expected}`,
    );
  }
  for (const [name, values] of Object.entries(datum.lossInputs)) {
    if (values.length !== length) {
      throw refused(`datum ${index}: ${name} length ${values.length} differs from ${expected}`);
    }
    if (!areFinite(values)) throw refused(`datum ${index}: ${name} holds a value that is not finite`);
  }
}

/** A loop, because it looks at every number that is sent. */
function areFinite(values: Float32Array): boolean {
  for (let index = 0; index < values.length; index++) {
    if (!Number.isFinite(values[index])) return false;
  }
  return true;
}

function refused(message: string): DomainError {
  return new DomainError('request-failed', `Training data refused: ${message}.`, { category: 'user' });
}
