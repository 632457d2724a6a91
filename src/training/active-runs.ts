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
  open(run: string): Promise<ActiveRun>;
  /** Lets go of a run that ended or whose service is gone. */
  forget(run: string): Promise<void>;
}

const PATIENCE_MS = 5000;
const KEPT_RUNS = 16;

/** Loads each run once per worker process; the longest unused one makes room for another. */
export function createActiveRuns(store: RunStore, engines: EngineAccess): ActiveRuns {
  const runs = new Map<string, Promise<ActiveRun>>();

  async function forget(run: string): Promise<void> {
    const loading = runs.get(run);
    runs.delete(run);
    const active = await loading?.catch(() => null);
    await active?.engine.client.close();
    await active?.journals.close();
  }

  return {
    forget,
    async open(run) {
      const known = runs.get(run) ?? load(store, engines, run);
      runs.delete(run);
      runs.set(run, known);
      const [oldest] = runs.keys();
      if (runs.size > KEPT_RUNS && oldest !== undefined) await forget(oldest);
      try {
        return await known;
      } catch (error) {
        if (runs.get(run) === known) runs.delete(run);
        throw error;
      }
    },
  };
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
