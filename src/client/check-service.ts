import type { SupervisedConfig } from '../config/supervised-config';
import { DomainError } from '../core/errors';
import { createEngineAccess } from '../training/engine-access';
import { rendererFor, requireOffered } from '../training/model-checks';

export interface ServiceQuestion {
  readonly url: string;
  readonly apiKey: string | null;
  readonly config: Pick<SupervisedConfig, 'model' | 'renderer' | 'templateArguments' | 'engine'>;
}

export interface ServiceFacts {
  /** What it was recognised as. */
  readonly server: 'everstep' | 'tinker' | 'skyrl';
}

const UNREACHABLE_AFTER_MS = 3000;
const PATIENCE_MS = 15_000;

/**
 * Refuses, by calls that cost nothing, what the service would refuse: a key, an account, a model it does not train; and a renderer
 * that does not fit the model. Throws `unreachable` where it gives no answer for now.
 */
export async function checkService({ url, apiKey, config }: ServiceQuestion): Promise<ServiceFacts> {
  rendererFor(config);
  const engines = createEngineAccess({
    url,
    unreachableAfterMs: UNREACHABLE_AFTER_MS,
    keyFor: () => apiKey ?? undefined,
  });
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const engine = await engines.connect({ ...config.engine, url }, { baseModel: config.model, signal });
    try {
      requireOffered(config.model, await engine.client.capabilities({ signal }), engine);
      return { server: engine.profile.server };
    } finally {
      await engine.client.close();
    }
  } catch (error) {
    throw signal.aborted ? keptWaiting(url, error) : withoutKey(error, apiKey, url);
  }
}

function keptWaiting(url: string, cause: unknown): DomainError {
  return new DomainError(
    'unreachable',
    `The training service ${url} kept us waiting for ${PATIENCE_MS / 1000} s. Try again later.`,
    { retryable: true, cause },
  );
}

/** There is no key to be wrong. */
function withoutKey(error: unknown, apiKey: string | null, url: string): unknown {
  const isRefused = error instanceof DomainError && error.code === 'unauthorized';
  if (!isRefused || apiKey !== null) return error;
  return new DomainError(
    'unauthorized',
    `The training service ${url} needs a key. Set TINKER_API_KEY, or name another service with --engine.`,
    { cause: error },
  );
}
