import { DomainError } from '../core/errors';
import { probeEndpoint } from '../engines/openai/probe-endpoint';

export interface EndpointQuestion {
  readonly url: string;
  readonly model: string;
  readonly apiKey: string | null;
}

/**
 * Why an endpoint may not answer. `mistake`: an address that is wrong, a model that is not served; `unauthorized`: without another
 * key; `away`: nobody listens there; `passing`: it is slow, or fails for now.
 */
export interface EndpointProblem {
  readonly kind: 'mistake' | 'unauthorized' | 'away' | 'passing';
  readonly message: string;
}

const PATIENCE_MS = 5000;

/** Looks, by a call that costs nothing, whether an endpoint answers and serves a model; null where nothing is wrong. */
export async function checkEndpoint({
  url,
  model,
  apiKey,
}: EndpointQuestion): Promise<EndpointProblem | null> {
  try {
    await probeEndpoint({ url, model, timeoutMs: PATIENCE_MS, ...(apiKey !== null && { apiKey }) });
    return null;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { kind: kindOf(error), message: error.message };
  }
}

function kindOf({ code, category, cause }: DomainError): EndpointProblem['kind'] {
  if (code === 'unauthorized') return 'unauthorized';
  if (code === 'unknown-model' || code === 'bad-config' || category === 'user') return 'mistake';
  // An answer that is late has no cause in the network.
  return code === 'unreachable' && cause !== undefined ? 'away' : 'passing';
}
