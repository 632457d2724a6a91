import type { Logger } from 'pino';
import type { TemporalAddress } from '../config/temporal-connection';
import type { WorkerVersion } from '../config/worker-version';
import type { EngineAccessOptions } from '../training/engine-access';

export interface RunWorkersOptions {
  readonly connection: TemporalAddress;
  /** Empty means every role. */
  readonly roles: readonly string[];
  /** Activities at once, by role. */
  readonly concurrency: Readonly<Record<string, number>>;
  readonly dataFolder: string;
  readonly store: string;
  /** Where files from the hub are kept; default below the data folder. */
  readonly cacheFolder?: string;
  readonly huggingFaceToken?: string;
  readonly engine: Omit<EngineAccessOptions, 'unreachableAfterMs'>;
  readonly plugins?: string;
  /** The release the workers belong to; without one they take work of any. */
  readonly version?: WorkerVersion;
  readonly logger: Logger;
}
