import { anySignal } from '../core/concurrency/any-signal';
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
  /** The key that the service at an address gets; default none. */
  readonly keyFor?: (url: string) => string | undefined;
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
  /** Somebody shows what the service keeps the run waiting for; without it, waiting for money is an error. */
  readonly onWait?: OnWait;
  /** Hears what finding out what the service can do waits for. */
  readonly onProbeWait?: OnWait;
  /** Gives up finding out what the service can do. */
  readonly signal?: AbortSignal;
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
    async connect(engine, { baseModel, onWait, onProbeWait, signal }) {
      const url = urlOf(engine);
      const apiKey = options.keyFor?.(url);
      const open = (more: Pick<TinkerClientOptions, 'profile' | 'onWait'>) =>
        createTinkerClient({
          baseUrl: url,
          unreachableAfterMs: options.unreachableAfterMs,
          ...(apiKey !== undefined && { apiKey }),
          ...more,
        });
      const unpaid = new AbortController();
      const probe = open({
        onWait: (waiting, longest) => {
          onProbeWait?.(waiting, longest);
          if (waiting?.what === 'billing') unpaid.abort(paymentRequired(url, onWait !== undefined));
        },
      });
      const signals = anySignal([unpaid.signal, ...(signal ? [signal] : [])]);
      try {
        const probed = await probe.probeProfile({ baseModel, signal: signals });
        const profile = withConfigured(probed, engine.profile);
        return { url, profile, client: open({ profile, ...(onWait && { onWait }) }) };
      } catch (error) {
        throw apiKey === undefined ? withoutKey(error, url) : error;
      } finally {
        await probe.close();
      }
    },
  };
}

/** There was no key to be wrong. */
function withoutKey(error: unknown, url: string): unknown {
  if (!(error instanceof DomainError && error.code === 'unauthorized')) return error;
  return new DomainError(
    'unauthorized',
    `The training service ${url} needs a key, and this worker sent none: TINKER_API_KEY is not set where it runs, or nobody told it ` +
      "that this service may have it. Set it there; give the command with the worker's --data-dir, or start the worker with the address in EVERSTEP_KEY_ADDRESSES.",
    { cause: error },
  );
}

/** Before anything was begun a person is asked to act; a run under way waits until they have. */
export function paymentRequired(url: string, isUnderWay: boolean): DomainError {
  const what = `The training service ${url} asks for payment (402): the balance of the account is used up. Add credit to it`;
  return isUnderWay
    ? new DomainError('engine-busy', `${what}; the run then goes on by itself.`, { retryable: true })
    : new DomainError('payment-required', `${what}, then start the run again; nothing was trained.`);
}

/** What a person says about the service goes before what it was taken for; its limits are its own in any case. */
function withConfigured(probed: ServerProfile, name: SupervisedConfig['engine']['profile']): ServerProfile {
  if (name === undefined) return probed;
  const { maxSequenceLength, maxChunkDatums, maxChunkBytes } = probed;
  return { ...KNOWN_PROFILES[name], maxSequenceLength, maxChunkDatums, maxChunkBytes };
}
