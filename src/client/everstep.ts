import { readEnvironment } from '../config/environment';
import { completeTrainingConfig } from '../config/load-config';
import type { SupervisedConfig } from '../config/supervised-config';
import type { TemporalAddress } from '../config/temporal-connection';
import { DEFAULT_NAMESPACE } from '../config/temporal-connection';
import { resolveTemporal } from '../stack/resolve-temporal';
import { createRunStore } from '../stores/run-store';
import { findUnpolledQueues } from './find-pollers';
import type { RunFilter, RunSummary } from './list-runs';
import { listRuns } from './list-runs';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import { ServerLink } from './server-link';
import type { StartedRun, StartOptions } from './start-run';
import { refuseEnded, resumeRun, startRun } from './start-run';

export interface ConnectOptions {
  /** Temporal server; default TEMPORAL_ADDRESS or Temporal's environment configuration, else what `everstep dev` runs. */
  readonly address?: string;
  readonly namespace?: string;
  /** Full connection options instead of `address`; null for none: everything is answered from the store. */
  readonly temporal?: TemporalAddress | null;
  /** Folder of runs; default `--store`, EVERSTEP_STORE, else `<data folder>/store`. */
  readonly store?: string;
  /** State folder; default EVERSTEP_HOME, else `.everstep`. */
  readonly dataFolder?: string;
}

/** A config as a person writes it: defaults may be left out. */
export type TrainingConfigInput = Readonly<Record<string, unknown>>;

/**
 * The library: start runs, list them, ask them.
 *
 *     const everstep = await Everstep.connect();
 *     const run = await everstep.train({ kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' } });
 *     const { status, finalWeightsDigest } = await run.result();
 *
 * A server that is away is no error until something has to be started: the store answers.
 */
export class Everstep {
  private constructor(
    private readonly sources: RunSources,
    /** Folder of the runs this object reads. */
    readonly store: string,
  ) {}

  static async connect(options: ConnectOptions = {}): Promise<Everstep> {
    const { store, dataFolder } = readEnvironment({ dataDir: options.dataFolder, store: options.store });
    const link = new ServerLink(temporalOf(options, dataFolder));
    await link.find();
    return new Everstep({ link, records: createRunStore(store) }, store);
  }

  /** Start a run, or attach to the one of that name that is under way. */
  async train(config: TrainingConfigInput, options: StartOptions = {}): Promise<RunHandle> {
    return (await this.start(completeTrainingConfig(config), options)).handle;
  }

  /** Like `train`, with a config that is complete already, saying whether the run was there before. */
  async start(config: SupervisedConfig, options: StartOptions = {}): Promise<StartedRun> {
    return startRun(this.sources, config, options);
  }

  /** Attach to a run that is under way, with the config it was started with. */
  async resume(run: string): Promise<StartedRun> {
    return resumeRun(this.sources, run);
  }

  /** Refuses a name whose run is known to have ended; `start` does so too, but needs a server. */
  async refuseEnded(run: string): Promise<void> {
    await refuseEnded(this.sources, run);
  }

  run(name: string): RunHandle {
    return new RunHandle(name, this.sources);
  }

  readonly runs = {
    list: (filter?: RunFilter): Promise<RunSummary[]> => listRuns(this.sources, filter),
  };

  /** Queues of the server that no worker polls. */
  async unpolledQueues(): Promise<string[]> {
    return findUnpolledQueues(await this.sources.link.require());
  }

  async close(): Promise<void> {
    await this.sources.link.close();
  }
}

function temporalOf(options: ConnectOptions, dataFolder: string): TemporalAddress | null {
  const { temporal, address, namespace } = options;
  if (temporal !== undefined) return temporal;
  if (address !== undefined) return { address, namespace: namespace ?? DEFAULT_NAMESPACE };
  const choice = resolveTemporal(dataFolder);
  return choice.from === 'nothing'
    ? null
    : { ...choice.target, namespace: namespace ?? choice.target.namespace };
}
