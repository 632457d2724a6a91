import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import path from 'node:path';
import { readEngineToken } from '../config/engine-token';
import type { Environment } from '../config/environment';
import { tokenFileRemark } from '../config/token-file';
import { DomainError } from '../core/errors';
import { createModelRuntime } from '../engines/local/compute/create-model-runtime';
import type { NamedModel } from '../engines/local/compute/base-model';
import type { LocalEngineOptions } from '../engines/local/engine';
import { startLocalEngine } from '../engines/local/engine';
import { parseSeeded, parseStrike } from '../engines/local/server/strict/strike';
import { StrictMode } from '../engines/local/server/strict/strict-mode';
import { createServiceLogger } from '../workers/service-log';
import { requirePlainParts } from './own-parts';
import { exitWithin } from './service-lifetime';
import type { StopReason } from './service-lifetime';

export interface EngineServiceOptions {
  readonly environment: Environment;
  readonly port: number;
  /** Where others may reach it; without `tokenFile` any key passes, so 127.0.0.1 unless in a closed network. */
  readonly host: string;
  /** Names that clients call it by besides its address. */
  readonly allowedHosts: readonly string[];
  /** Holds the key that clients have to show. */
  readonly tokenFile: string | null;
  readonly threads: number | null;
  /** `NAME=FOLDER` each: base models besides the one that comes with the package. */
  readonly models: readonly string[];
  /** Behave like the official service, for tests of clients. */
  readonly strict: StrictFlags | null;
  readonly stop: Promise<StopReason>;
  readonly onReady: (line: string) => void;
}

/** What befalls clients, in the words of the command line. */
export interface StrictFlags {
  readonly strikes: readonly string[];
  /** `SEED/RATE`. */
  readonly seeded: string | null;
}

const LOOPBACK = '127.0.0.1';
const STOP_LIMIT_MS = 4000;

/** `everstep engine`: the local training engine in the foreground. Returns the exit code. */
export async function runEngineService(options: EngineServiceOptions): Promise<number> {
  const { environment } = options;
  requirePlainParts(environment.dataFolder);
  const access = accessOf(options);
  const logger = createServiceLogger({ service: 'engine', level: environment.logLevel });
  const remark = options.tokenFile === null ? null : tokenFileRemark(options.tokenFile);
  if (remark !== null) logger.warn(remark);
  const runtime = await createModelRuntime({
    ...(options.threads === null ? {} : { threads: options.threads }),
    namedModels: options.models.map(parseModel),
  });
  const isLocal = options.host === LOOPBACK;
  const engine = await startLocalEngine({
    runtime,
    port: isLocal ? options.port : 0,
    dataFolder: path.join(environment.dataFolder, 'engine'),
    logger,
    hosts: [options.host, ...options.allowedHosts],
    ...access,
  });
  const entrance = isLocal ? null : await openEntrance(options, Number(new URL(engine.url).port));
  options.onReady(
    `Engine ready at ${entrance === null ? engine.url : `http://${options.host}:${options.port}`}`,
  );
  const end = await options.stop;
  logger.info({ reason: end.reason }, 'stopping');
  exitWithin(STOP_LIMIT_MS, end.exitCode);
  entrance?.close();
  await engine.close();
  await runtime.close();
  return end.exitCode;
}

function parseModel(text: string): NamedModel {
  const [, name, folder] = /^([^\s=]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || folder === undefined) {
    throw new DomainError(
      'bad-config',
      `--model ${text}: give NAME=FOLDER, e.g. Qwen/Qwen3-8B-Base=models/my-model.`,
    );
  }
  return { name, folder: path.resolve(folder) };
}

/** Who may ask. Clients of a strict engine show tokens that they exchanged a key for, so that it looks at keys itself. */
function accessOf({
  tokenFile,
  strict,
  environment,
}: EngineServiceOptions): Pick<LocalEngineOptions, 'strict' | 'clientKey'> {
  const clientKey = tokenFile === null ? null : readEngineToken(tokenFile);
  if (strict) return { strict: strictMode(strict, clientKey ?? environment.engineApiKey) };
  return clientKey === null ? {} : { clientKey };
}

function strictMode({ strikes, seeded }: StrictFlags, apiKey: string | null): StrictMode {
  return new StrictMode({
    strikes: strikes.map(parseStrike),
    ...(apiKey !== null && { apiKeys: [apiKey] }),
    ...(seeded !== null && { seeded: parseSeeded(seeded) }),
  });
}

/** The engine itself listens on the loopback interface only; this passes connections from another one on to it. */
function openEntrance({ host, port }: EngineServiceOptions, enginePort: number): Promise<Server> {
  const server = createServer((outside) => {
    const inside = connect(enginePort, LOOPBACK);
    outside.pipe(inside).pipe(outside);
    outside.on('error', () => inside.destroy());
    inside.on('error', () => outside.destroy());
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      resolve(server);
    });
  });
}
