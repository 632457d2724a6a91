import pino from 'pino';
import type { Logger } from 'pino';
import type { Environment } from '../config/environment';
import type { Permissions } from '../config/permissions';
import { createPermissions } from '../config/permissions';
import { tokenFileRemark } from '../config/token-file';
import type { TemporalAddress } from '../config/temporal-connection';
import { tokenizerOf } from '../renderers/model-tokenizer';
import type { Tokenizer } from '../core/tokenizer';
import { createRunStore } from '../stores/run-store';
import { createServer } from './create-server';
import type { EverstepServer } from './create-server';
import { chooseToken } from './serve-token';

export interface ServeOptions {
  readonly environment: Environment;
  readonly port: number;
  readonly host: string;
  readonly tokenFile: string | undefined;
  /** Names besides the loopback interface's that clients may call this server by. */
  readonly allowedHosts: readonly string[];
  /** `--engine`: asked instead of what runs name. */
  readonly engineUrl: string | null;
  /** The service of the stack that is there now; null where there is none. */
  readonly findEngine: () => string | null;
  /** The Temporal server there is now. */
  readonly findTemporal: () => TemporalAddress | null;
}

export interface Serving {
  readonly url: string;
  readonly asksForToken: boolean;
  readonly logger: Logger;
  close(): Promise<void>;
}

/** `everstep serve`: listens until closed. */
export async function startServing(options: ServeOptions): Promise<Serving> {
  const { environment, host, port } = options;
  const token = chooseToken({ host, file: options.tokenFile, variable: environment.serveToken });
  const logger = createLogger(environment);
  const remark = options.tokenFile === undefined ? null : tokenFileRemark(options.tokenFile);
  if (remark !== null) logger.warn(remark);
  const server = serverOf(options, { token, logger });
  try {
    await server.app.listen({ host, port });
  } catch (error) {
    await server.close();
    throw error;
  }
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name}:${port}`,
    asksForToken: token !== null,
    logger,
    close: () => server.close(),
  };
}

function serverOf(
  { environment, host, allowedHosts, engineUrl, findEngine, findTemporal }: ServeOptions,
  { token, logger }: { readonly token: string | null; readonly logger: Logger },
): EverstepServer {
  const records = createRunStore(environment.store);
  const permissions = permissionsOf(environment, engineUrl);
  return createServer({
    guard: { token, hosts: [host, ...allowedHosts] },
    runs: { records, findTemporal },
    gateway: {
      records,
      engine: {
        fixedUrl: engineUrl,
        defaultUrl: () => environment.engineUrl ?? findEngine(),
        tokenizerOf: rememberedTokenizers(environment),
        keyFor: (url) => permissions.keyFor(url, environment.engineApiKey ?? undefined),
      },
    },
    logger,
  });
}

/** Runs name services too, and what is in a store may come from anybody. */
function permissionsOf(environment: Environment, named: string | null): Permissions {
  const { dataFolder, store, pluginFolders, keyAddresses } = environment;
  const engineUrl = named ?? environment.engineUrl;
  return createPermissions({
    ...{ dataFolder, store, pluginFolders, keyAddresses },
    ...(engineUrl !== null && { engineUrl }),
  });
}

/** JSON on stderr: stdout is kept for the line that says the server is ready. */
function createLogger({ logLevel }: Environment): Logger {
  const destination = pino.destination({ dest: 2, sync: true });
  destination.on('error', () => undefined);
  return pino({ level: logLevel, base: { service: 'serve', pid: process.pid } }, destination);
}

function rememberedTokenizers(environment: Environment): (model: string) => Promise<Tokenizer> {
  const { cacheFolder, huggingFaceToken: token, huggingFaceUrl: hubUrl } = environment;
  const hub = {
    cacheFolder,
    ...(token !== null && { token }),
    ...(hubUrl !== null && { hubUrl }),
  };
  const known = new Map<string, Promise<Tokenizer>>();
  return (model) => {
    const present = known.get(model);
    if (present) return present;
    const loading = tokenizerOf(model, hub);
    known.set(model, loading);
    loading.catch(() => known.delete(model));
    return loading;
  };
}
