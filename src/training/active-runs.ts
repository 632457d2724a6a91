import type { OptimizationPlan } from '../core/training-plan';
import type { RunStore } from '../stores/run-store';
import { createBatches } from './batches';
import type { Batches } from './batches';
import type { EngineAccess, EngineConnection } from './engine-access';
import { Patience } from './patience';
import { PreparedData } from './prepared-data';
import type { RunRecord } from './run-folder';
import { optimizationOf, readRunRecord, trainDataPath } from './run-folder';
import { KeptJournals } from './step-journals';

/** What a worker keeps in memory of a run it trains, so that a segment starts at once. */
export interface ActiveRun {
  readonly record: RunRecord;
  readonly data: PreparedData;
  readonly batches: Batches;
  readonly optimization: OptimizationPlan;
  readonly engine: EngineConnection;
  readonly patience: Patience;
  readonly journals: KeptJournals;
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
}

const PATIENCE_MS = 5000;
const KEPT_RUNS = 16;

/** Loads each run once per worker process; the one unused for longest makes room for another. */
export function createActiveRuns(store: RunStore, engines: EngineAccess): ActiveRuns {
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
    const unused = [...entries].find(([, { users }]) => users === 0);
    if (unused) await forget(unused[0]);
  }

  /** The entry, as the one used last. */
  function enter(run: string): Entry {
    const entry = entries.get(run) ?? { loading: load(store, engines, run), users: 0 };
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
        await makeRoom();
        return await work(await entry.loading);
      } catch (error) {
        if (entries.get(run) === entry && (await isBroken(entry))) entries.delete(run);
        throw error;
      } finally {
        entry.users -= 1;
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

async function load(store: RunStore, engines: EngineAccess, run: string): Promise<ActiveRun> {
  const record = await readRunRecord(store, run);
  const data = await PreparedData.load(trainDataPath(store.runFolder(run)));
  const optimization = optimizationOf(record.config);
  const patience = new Patience(PATIENCE_MS);
  const engine = await engines.connect(record.config.engine, {
    baseModel: record.config.model,
    onWait: patience.onWait,
  });
  const { batchSize, seed } = optimization;
  return {
    record,
    data,
    optimization,
    patience,
    engine,
    journals: new KeptJournals(store, run),
    batches: createBatches({ exampleCount: data.exampleCount, batchSize, seed }),
  };
}
