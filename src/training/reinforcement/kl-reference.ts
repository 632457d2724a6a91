import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { DomainError } from '../../core/errors';
import type { Sampler } from '../../core/sampling';
import type { TinkerClient } from '../../engines/tinker/client';
import type { RunStore } from '../../stores/run-store';
import type { EngineAccess } from '../engine-access';
import type { KlReference } from '../resolve-kl-reference';
import { resolveKlReference } from '../resolve-kl-reference';

/**
 * The reference a config asks for, looked up once, when the run is prepared; null without a penalty. Refused where the
 * training service cannot sample from it.
 */
export async function prepareKlReference(
  { store, engines }: { readonly store: RunStore; readonly engines: EngineAccess },
  config: ReinforcementConfig,
  signal: AbortSignal,
): Promise<KlReference | null> {
  const reference = await resolveKlReference(store, config);
  if (reference === null) return null;
  // The model that is trained is known to be offered.
  if (reference.path === null && reference.model === config.model) return reference;
  const { client } = await engines.connect(config.engine, { baseModel: config.model, signal });
  try {
    const sampler = klReferenceSampler(client, reference);
    try {
      await sampler.open();
    } finally {
      await sampler.close();
    }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const { checkpoint } = config.klReference;
    const field = checkpoint === undefined ? 'klReference.model' : 'klReference.checkpoint';
    const { retryable } = error;
    throw new DomainError(error.code, `${field}: ${error.message}`, { retryable, cause: error });
  } finally {
    await client.close();
  }
  return reference;
}

export function klReferenceSampler(
  client: Pick<TinkerClient, 'createSampler'>,
  { model, path }: KlReference,
): ReturnType<TinkerClient['createSampler']> {
  return client.createSampler(path === null ? { baseModel: model } : { modelPath: path });
}

/** A reference that is gone is not the policy's weights, which would be saved once more: it ends the run. */
export function namingKlReference(sampler: Sampler): Sampler {
  return {
    async sample(request, options) {
      try {
        return await sampler.sample(request, options);
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'checkpoint-missing') throw error;
        throw new DomainError('bad-config', `klReference: ${error.message}`, { cause: error });
      }
    },
  };
}
