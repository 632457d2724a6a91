import type { SupervisedConfig } from '../config/supervised-config';
import { DomainError } from '../core/errors';
import type { TinkerClient } from '../engines/tinker/client';
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

export interface ConnectOptions {
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
      const open = (profile?: ServerProfile) =>
        createTinkerClient({
          baseUrl: url,
          unreachableAfterMs: options.unreachableAfterMs,
          ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
          ...(onWait && { onWait }),
          ...(profile && { profile }),
        });
      const probe = open(engine.profile && KNOWN_PROFILES[engine.profile]);
      try {
        const profile = await probe.probeProfile({ baseModel });
        return { url, profile, client: open(profile) };
      } finally {
        await probe.close();
      }
    },
  };
}
