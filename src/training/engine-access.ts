import type { SupervisedConfig } from '../config/supervised-config';
import { DomainError } from '../core/errors';
import type { TinkerClient, TinkerClientOptions } from '../engines/tinker/client';
import { createTinkerClient } from '../engines/tinker/client';
import type { OnWait } from '../engines/tinker/waiting';
import type { ServerProfile } from '../engines/tinker/profile';
import { KNOWN_PROFILES } from '../engines/tinker/profile';

/** How a worker reaches training services: its stack's own, or the one a config names. */
export interface EngineAccessOptions {
  readonly url?: string;
  readonly apiKey?: string;
  /** After this long without a connection a call gives up; the run then waits and shows it. */
  readonly unreachableAfterMs: number;
}

export interface EngineConnection {
  readonly url: string;
  readonly client: TinkerClient;
  readonly profile: ServerProfile;
}

interface ConnectOptions {
  readonly baseModel: string;
  readonly onWait?: OnWait;
}

export interface EngineAccess {
  /** Opens a client and finds out what the service can do. The caller closes the client. */
  connect(engine: SupervisedConfig['engine'], options: ConnectOptions): Promise<EngineConnection>;
  urlOf(engine: SupervisedConfig['engine']): string;
}

export function createEngineAccess(options: EngineAccessOptions): EngineAccess {
  function urlOf(engine: SupervisedConfig['engine']): string {
    const url = engine.url ?? options.url;
    if (url !== undefined) return url;
    throw new DomainError(
      'bad-config',
      'engine.url: no training service is known. Start one with `everstep dev`, or give engine.url or TINKER_BASE_URL.',
    );
  }

  return {
    urlOf,
    async connect(engine, { baseModel, onWait }) {
      const url = urlOf(engine);
      const open = (more: Pick<TinkerClientOptions, 'profile' | 'onWait'>) =>
        createTinkerClient({
          baseUrl: url,
          unreachableAfterMs: options.unreachableAfterMs,
          ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
          ...more,
        });
      const probe = open({});
      try {
        const profile = withConfigured(await probe.probeProfile({ baseModel }), engine.profile);
        return { url, profile, client: open({ profile, ...(onWait && { onWait }) }) };
      } finally {
        await probe.close();
      }
    },
  };
}

/** What a person says about the service goes before what it was taken for; its limits are its own in any case. */
function withConfigured(probed: ServerProfile, name: SupervisedConfig['engine']['profile']): ServerProfile {
  if (name === undefined) return probed;
  const { maxSequenceLength, maxChunkDatums, maxChunkBytes } = probed;
  return { ...KNOWN_PROFILES[name], maxSequenceLength, maxChunkDatums, maxChunkBytes };
}
