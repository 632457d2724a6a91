import type { Logger } from 'pino';
import type { TemporalAddress } from '../config/temporal-connection';
import type { WorkerVersion } from '../config/worker-version';
import type { SandboxChoice } from '../core/sandbox-choice';

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
  /** Where programs are kept that were made once for all; default below the data folder. */
  readonly toolFolder?: string;
  readonly huggingFaceToken?: string;
  /** A mirror of the hub (HF_ENDPOINT). */
  readonly huggingFaceUrl?: string;
  /** Benchmark data put there by hand (EVERSTEP_DATA_DIR). */
  readonly benchmarkDataFolder?: string;
  /** Of OpenAI-compatible endpoints. */
  readonly openaiApiKey?: string;
  /** Of endpoints that judge; default the one above. */
  readonly judgeApiKey?: string;
  /** The training service of this worker, and the key of such services. */
  readonly engine: { readonly url?: string; readonly apiKey?: string };
  readonly plugins?: string;
  /** Beneath them files that runs name are imported as plug-ins. */
  readonly pluginFolders?: readonly string[];
  /** The folder that a person started the process in: as them, unless it lies among what runs write. */
  readonly startedIn?: string | undefined;
  /** Addresses of services that get keys, besides the worker's own and those of official services. */
  readonly keyAddresses?: readonly string[];
  /** Models that are none of a service, which roles of Inspect AI may have loaded here; default none. */
  readonly inspectModels?: readonly string[];
  /** Where code of models runs; default the best that works here. */
  readonly sandbox?: SandboxChoice;
  /** The release the workers belong to; without one they take work of any. */
  readonly version?: WorkerVersion;
  /** File of the workflows, bundled; default the one that was built beside this code. */
  readonly workflowBundle?: string;
  readonly logger: Logger;
}
