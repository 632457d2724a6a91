import path from 'node:path';
import type { Environment } from '../config/environment';
import { DEFAULT_NAMESPACE } from '../config/temporal-connection';
import { DomainError } from '../core/errors';
import { createServiceLogger } from '../workers/service-log';
import { adoptDatabase, requireOwnDatabase } from './own-database';
import { requirePlainParts } from './own-parts';
import { spacedProgress } from './progress';
import { exitWithin } from './service-lifetime';
import type { StopReason } from './service-lifetime';
import { stackPlaces } from './stack-record';
import { binaryLookup, obtainTemporalBinary } from './temporal-binary';
import { startTemporalServer } from './temporal-server';

export interface TemporalServiceOptions {
  readonly environment: Environment;
  readonly port: number;
  readonly uiPort: number | null;
  readonly durability: 'normal' | 'full';
  /** Take over a database that was not made here. */
  readonly adopt: boolean;
  readonly stop: Promise<StopReason>;
  readonly onReady: (line: string) => void;
}

const STOP_LIMIT_MS = 15_000;

/** `everstep temporal`: the embedded server in the foreground. Returns the exit code. */
export async function runTemporalService(options: TemporalServiceOptions): Promise<number> {
  const { environment } = options;
  requirePlainParts(environment.dataFolder);
  const logger = createServiceLogger({ service: 'temporal', level: environment.logLevel });
  const progress = spacedProgress((line) => {
    logger.info(line);
  });
  const binary = await Promise.race([
    obtainTemporalBinary(binaryLookup(environment, progress)),
    options.stop,
  ]);
  if ('exitCode' in binary) return binary.exitCode;
  logger.info(
    { program: binary.path, source: binary.source, version: binary.version },
    'Temporal CLI chosen',
  );
  const database = path.resolve(stackPlaces(environment.dataFolder).database);
  if (options.adopt) adoptDatabase(database);
  requireOwnDatabase(database);
  const starting = startTemporalServer({
    binary: binary.path,
    port: options.port,
    uiPort: options.uiPort,
    databaseFile: database,
    durability: options.durability,
  });
  const early = await Promise.race([starting.then(() => null), options.stop]);
  if (early !== null) exitWithin(STOP_LIMIT_MS, early.exitCode);
  const server = await starting;
  adoptDatabase(database);
  const page = server.uiUrl === null ? '' : `, UI ${server.uiUrl}`;
  if (early === null) {
    options.onReady(
      `Temporal server ready at ${server.address} (namespace ${DEFAULT_NAMESPACE}${page}, CLI: ${binary.source})`,
    );
  }
  const end = await Promise.race([options.stop, server.ended]);
  if (typeof end === 'string') {
    throw new DomainError(
      'temporal-unavailable',
      `The Temporal server ended: ${end}. Start it again; runs go on where they were.`,
    );
  }
  logger.info({ reason: end.reason }, 'stopping');
  exitWithin(STOP_LIMIT_MS, end.exitCode);
  await server.stop();
  return end.exitCode;
}
