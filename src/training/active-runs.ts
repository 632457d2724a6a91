import type { OptimizationPlan } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import type { EngineAccess, EngineConnection } from './engine-access';
import { Patience } from './patience';
import type { LoadPlugins } from './plugin-file';
import { PreparedData } from './prepared-data';
import type { PluginRegistry } from '../evaluation/plugins';
import { NO_PLUGINS } from '../evaluation/plugins';
import { changedLoss } from './reinforcement/plugin-code';
import { pluginLossOf } from './reinforcement/derived-loss';
import { createReinforcementBatches } from './reinforcement/reinforcement-batches';
import { RolloutJournal } from './reinforcement/rollout-journal';
import type { RunRecord } from './run-folder';
import { optimizationOf, readRunRecord, trainDataPath } from './run-folder';
import type { BatchSource } from './step-batch';
import { KeptJournals } from './step-journals';
import { createSupervisedBatches } from './supervised-batches';

/** What a worker keeps in memory of a run it trains, so that a segment starts at once. */
export interface ActiveRun {
  readonly record: RunRecord;
  readonly optimization: OptimizationPlan;
  readonly engine: EngineConnection;
  readonly patience: Patience;
  readonly journals: KeptJournals;
  /** Loaded when a segment first asks for it: who only speaks to the service runs no code of a plug-in. */
  readonly material: () => Promise<TrainingMaterial>;
}

/** What a run's steps are made of. */
export interface TrainingMaterial {
  readonly batches: BatchSource;
  /** What is to be said of this worker's plug-in code; null where it is what the run was prepared with. */
  readonly codeRemark: string | null;
}

export interface ActiveRuns {
  /** Works with a run; while anybody does, it stays. */
  use<Result>(run: string, work: (active: ActiveRun) => Promise<Result>): Promise<Result>;
  /** Lets go of a run that ended or whose service is gone. Whoever works with it meets a closed connection. */
  forget(run: string): Promise<void>;
}

interface Entry {
  readonly loading: Promise<ActiveRun>;
  users: number;
  /** When the last of them was done. */
  usedAt: number;
}

const PATIENCE_MS = 5000;
const KEPT_RUNS = 16;
/** A run that is trained here comes back within seconds, however many others there are. */
const KEPT_MS = 60_000;

/** Loads each run once per worker process; of many, those that nobody has used for a while make room. */
export function createActiveRuns(
  loadRun: (run: string) => Promise<ActiveRun>,
  now: () => number = () => performance.now(),
): ActiveRuns {
  const entries = new Map<string, Entry>();

  async function forget(run: string): Promise<void> {
    const entry = entries.get(run);
    entries.delete(run);
    const active = await entry?.loading.catch(() => null);
    await active?.engine.client.close();
    await active?.journals.close();
  }

  async function makeRoom(): Promise<void> {
    if (entries.size <= KEPT_RUNS) return;
    const limit = now() - KEPT_MS;
    const unused = [...entries].filter(([, { users, usedAt }]) => users === 0 && usedAt <= limit);
    const surplus = unused.slice(0, entries.size - KEPT_RUNS);
    await Promise.all(surplus.map(([run]) => forget(run)));
  }

  /** The entry, as the one used last. */
  function enter(run: string): Entry {
    const entry = entries.get(run) ?? { loading: loadRun(run), users: 0, usedAt: now() };
    entries.delete(run);
    entries.set(run, entry);
    return entry;
  }

  return {
    forget,
    async use(run, work) {
      const entry = enter(run);
      entry.users += 1;
      try {
        const [active] = await Promise.all([entry.loading, makeRoom()]);
        return await work(active);
      } catch (error) {
        if (entries.get(run) === entry && (await isBroken(entry))) entries.delete(run);
        throw error;
      } finally {
        entry.users -= 1;
        entry.usedAt = now();
      }
    },
  };
}

/** A run that could not be loaded is loaded anew next time. */
async function isBroken({ loading }: Entry): Promise<boolean> {
  return loading.then(
    () => false,
    () => true,
  );
}

interface ActiveRunSources {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly loadPlugins: LoadPlugins;
}

export async function loadActiveRun(
  { store, engines, loadPlugins }: ActiveRunSources,
  run: string,
): Promise<ActiveRun> {
  const record = await readRunRecord(store, run);
  const optimization = optimizationOf(record.config);
  const patience = new Patience(PATIENCE_MS);
  const engine = await engines.connect(record.config.engine, {
    baseModel: record.config.model,
    onWait: patience.onWait,
  });
  const journals = new KeptJournals(store, run);
  const material = keptOnceLoaded(async () => {
    const plugins = record.config.kind === 'rl' ? await loadPlugins(record.config.plugins) : NO_PLUGINS;
    const batches = await batchesOf(record, store.runFolder(run), plugins);
    return { batches, codeRemark: codeRemarkOf(record, plugins) };
  });
  return { record, optimization, patience, engine, journals, material };
}

/** What could not be loaded is loaded anew next time. */
function keptOnceLoaded<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | null = null;
  return async () => {
    const own = (loading ??= load());
    try {
      return await own;
    } catch (error) {
      if (loading === own) loading = null;
      throw error;
    }
  };
}

function codeRemarkOf({ config, code }: RunRecord, plugins: PluginRegistry): string | null {
  return config.kind === 'rl' ? changedLoss(code, config, plugins) : null;
}

async function batchesOf(
  { run, config, data, klReference }: RunRecord,
  folder: string,
  plugins: PluginRegistry,
): Promise<BatchSource> {
  if (config.kind === 'sft') {
    return createSupervisedBatches(await PreparedData.load(trainDataPath(folder)), config);
  }
  const journal = new RolloutJournal(folder, klReference !== undefined);
  const pluginLoss = pluginLossOf(config, plugins);
  return createReinforcementBatches({ run, config, journal, pluginLoss, problemCount: data.trainCount });
}
