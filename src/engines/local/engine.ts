import type pino from 'pino';
import type { ModelRuntime } from './model-runtime';
import { createApp } from './server/app';
import type { BootClock } from './server/checkpoints/kept-looks';
import { machineBootClock } from './server/checkpoints/kept-looks';
import { ClientKey } from './server/client-key';
import { EngineService } from './server/engine-service';
import type { EngineProfile } from './server/service-context';
import type { StrictMode } from './server/strict/strict-mode';

export interface LocalEngineOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly host?: '127.0.0.1';
  /** Checkpoints and the record of applied steps live here and outlive the process. */
  readonly dataFolder: string;
  /** Stays the caller's: close it after the engine. */
  readonly runtime: ModelRuntime;
  readonly logger: pino.Logger;
  /** A session without heartbeat for this long ends, and its models with it. */
  readonly sessionTimeoutMs?: number;
  /** How long a question after an unfinished result is held open; clients give up at 45 s. */
  readonly longPollMs?: number;
  /** Within which a request has to arrive whole, headers and body. */
  readonly requestTimeoutMs?: number;
  /** By which sessions and checkpoints end, in milliseconds; default the machine's clock. */
  readonly now?: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly elapsed?: () => number;
  /** Of the machine; null for none. By it what was seen to be over is handed on to the next engine. */
  readonly boot?: BootClock | null;
  /** Makes the engine behave like other servers of the protocol, for tests of clients. */
  readonly profile?: Partial<EngineProfile>;
  /** Makes it behave like the official service, as far as that is known. */
  readonly strict?: StrictMode;
  /** Names with dots that clients call it by, besides its address; a page under any other is kept out. */
  readonly hosts?: readonly string[];
  /** What clients have to show; without it any key passes. With `strict` its keys say who may come. */
  readonly clientKey?: string;
}

export interface LocalEngine {
  readonly url: string;
  close(): Promise<void>;
}

const DURABLE: EngineProfile = { deduplicate: true, ordered: true, deterministic: true, maxModels: null };

/** Serves the Tinker protocol from this process until closed. */
export async function startLocalEngine(options: LocalEngineOptions): Promise<LocalEngine> {
  const service = await EngineService.start({
    dataFolder: options.dataFolder,
    runtime: options.runtime,
    logger: options.logger,
    sessionTimeoutMs: options.sessionTimeoutMs ?? 300_000,
    longPollMs: options.longPollMs ?? 35_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 120_000,
    now: options.now ?? Date.now,
    elapsed: options.elapsed ?? (() => performance.now()),
    boot: options.boot === undefined ? machineBootClock() : options.boot,
    profile: { ...DURABLE, ...options.profile },
  });
  const app = createApp(service, {
    ...{ strict: options.strict, hosts: options.hosts },
    ...(options.clientKey !== undefined && { clientKey: new ClientKey(options.clientKey) }),
  });
  try {
    const url = await app.listen({ port: options.port, host: options.host ?? '127.0.0.1' });
    return {
      url,
      close: async () => {
        await app.close();
        await service.stop();
      },
    };
  } catch (error) {
    await service.stop();
    throw error;
  }
}
