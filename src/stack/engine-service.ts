import path from 'node:path';
import type { Environment } from '../config/environment';
import { createModelRuntime } from '../engines/local/compute/create-model-runtime';
import { startLocalEngine } from '../engines/local/engine';
import { createServiceLogger } from '../workers/service-log';
import { exitWithin } from './service-lifetime';
import type { StopReason } from './service-lifetime';

export interface EngineServiceOptions {
  readonly environment: Environment;
  readonly port: number;
  readonly threads: number | null;
  readonly stop: Promise<StopReason>;
  readonly onReady: (line: string) => void;
}

const STOP_LIMIT_MS = 4000;

/** `everstep engine`: the local training engine in the foreground. Returns the exit code. */
export async function runEngineService(options: EngineServiceOptions): Promise<number> {
  const { environment } = options;
  const logger = createServiceLogger({ service: 'engine', level: environment.logLevel });
  const runtime = await createModelRuntime({ ...(options.threads === null ? {} : { threads: options.threads }) });
  const engine = await startLocalEngine({
    runtime,
    port: options.port,
    dataFolder: path.join(environment.dataFolder, 'engine'),
    logger,
  });
  options.onReady(`Engine ready at ${engine.url}`);
  const end = await options.stop;
  logger.info({ reason: end.reason }, 'stopping');
  exitWithin(STOP_LIMIT_MS, end.exitCode);
  await engine.close();
  await runtime.close();
  return end.exitCode;
}
