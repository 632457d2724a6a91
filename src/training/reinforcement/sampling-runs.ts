import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { DomainError } from '../../core/errors';
import type { RunStore } from '../../stores/run-store';
import type { EnvironmentDataset } from '../environments/environment-dataset';
import type { GroupOrder } from '../environments/group-order';
import { createGroupOrder } from '../environments/group-order';
import type { RunRecord } from '../run-folder';
import { readRunRecord, requireRun } from '../run-folder';
import { KeptConnections } from './kept-connections';
import type { EnvironmentAccess } from './open-environments';
import { openEnvironments, problemsHash } from './open-environments';
import { changedRewards, environmentCodeOf } from './plugin-code';

/** What a worker keeps in memory of a run it samples for. */
export interface SamplingRun {
  readonly record: RunRecord;
  readonly config: ReinforcementConfig;
  readonly dataset: EnvironmentDataset;
  /** Index in the dataset of each group of the run. */
  readonly orderOf: GroupOrder;
  /** Of the plug-in code that plays and grades its environment; null where that is ours. */
  readonly environmentCode: string | null;
  /** What is to be said of this worker's plug-in code; null where it is what the run was prepared with. */
  readonly codeRemark: string | null;
}

export interface SamplingRuns {
  readonly connections: KeptConnections;
  open(run: string): Promise<SamplingRun>;
}

const KEPT_RUNS = 4;

/** Reads the problems of each run once a worker process; the run unused for longest makes room for another. */
export function createSamplingRuns(store: RunStore, access: EnvironmentAccess): SamplingRuns {
  const runs = new Map<string, Promise<SamplingRun>>();
  return {
    connections: new KeptConnections(),
    async open(run) {
      await requireRun(store, run);
      const opening = runs.get(run) ?? load(store, access, run);
      runs.delete(run);
      runs.set(run, opening);
      const [oldest] = runs.keys();
      if (runs.size > KEPT_RUNS && oldest !== undefined) runs.delete(oldest);
      try {
        return await opening;
      } catch (error) {
        if (runs.get(run) === opening) runs.delete(run);
        throw error;
      }
    },
  };
}

async function load(store: RunStore, access: EnvironmentAccess, run: string): Promise<SamplingRun> {
  const record = await readRunRecord(store, run);
  const { config, data } = record;
  if (config.kind !== 'rl') throw new TypeError(`Run ${run} is of kind ${config.kind} and samples nothing.`);
  const dataset = await openEnvironments(access, config, record.dataFolder);
  if (problemsHash(dataset) !== data.contentHash) {
    throw new DomainError(
      'bad-dataset',
      `The problems of ${dataset.name} are not those that run "${run}" was started with: ${dataset.length} here, ` +
        `${data.trainCount} there. Give every worker the same data.`,
    );
  }
  const { length } = dataset;
  const { seed } = config;
  const orderOf = dataset.orderOf?.(seed) ?? createGroupOrder({ length, seed });
  const plugins = await access.loadPlugins(config.plugins);
  return {
    ...{ record, config, dataset, orderOf },
    environmentCode: environmentCodeOf(config.environment, plugins),
    codeRemark: changedRewards(record.code, config, plugins),
  };
}
