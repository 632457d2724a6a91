import { join } from 'node:path';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { TrainingConfig } from '../config/training-config';
import type { DataSummary } from '../core/data-summary';
import { DomainError } from '../core/errors';
import type { OptimizationPlan } from '../core/training-plan';
import type { PluginCode } from './reinforcement/plugin-code';
import { editedRecord, isEdited } from './record-digest';
import type { KlReference } from './resolve-kl-reference';
import { runIsAway } from '../stores/make-folder';
import type { RunStore } from '../stores/run-store';

/**
 * What a run keeps in its folder beside the journals, written once when it is prepared:
 *
 *     config.json           the resolved config and where everything came from
 *     data/train.bin        the training split as tokens
 *     data/test.jsonl       the test split as conversations, where there is one
 */
export interface RunRecord {
  readonly run: string;
  readonly config: TrainingConfig;
  /** Options of each evaluator by its name; of the test split as `frozen-test-set.ts` records it. */
  readonly evaluators: Readonly<Record<string, EvaluatorConfig>>;
  readonly renderer: string;
  readonly engineUrl: string;
  /** Where the weights come from; null for the base model. */
  readonly initialPath: string | null;
  /** Of benchmark data that goes before the hub; absent where each worker has its own, or none. */
  readonly dataFolder?: string;
  readonly data: {
    readonly source: string;
    readonly revision: string | null;
    readonly contentHash: string;
    /** Of the tokens; null where nothing is rendered before it is sampled. */
    readonly preparedHash: string | null;
    readonly trainCount: number;
    readonly testCount: number;
    readonly skippedCount: number;
    readonly truncatedCount: number;
    /** What was counted while it was rendered; absent where nothing is. */
    readonly summary?: DataSummary;
    /** Examples that train nothing: their loss is cut off, or they have none. Absent where nothing is rendered before it is sampled. */
    readonly lossGoneCount?: number;
    readonly losslessCount?: number;
  };
  /** Of a plug-in file, where the run has its environment, its reward shaping or its loss from one. */
  readonly code?: PluginCode;
  /** Weights that the KL penalty compares with; absent where there is none. */
  readonly klReference?: KlReference;
  readonly provenance: object;
  /** Of everything else in it as it was written (`record-digest.ts`); absent in runs of releases before it. */
  readonly digest?: string;
}

/**
 * What `prepareRun` wrote, refused where it was edited since. A worker that sees another store waits for one that sees the run, and
 * says so.
 */
export async function readRunRecord(store: RunStore, run: string): Promise<RunRecord> {
  await requireRun(store, run);
  const record = await store.readConfig<RunRecord>(run).catch(async (error: unknown) => {
    await requireRun(store, run);
    throw asChanged(error);
  });
  if (isEdited(record)) throw editedRecord(run, recordPath(store.runFolder(run)));
  return record;
}

/** The run is there: what stands in the place of its record, or does not, came after it. */
function asChanged(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  return new DomainError('record-changed', error.message, { cause: error });
}

export function recordPath(runFolder: string): string {
  return join(runFolder, 'config.json');
}

/** Refuses to work, for now, on a run whose folder this worker does not see: it would write where nobody reads. */
export async function requireRun(store: Pick<RunStore, 'exists' | 'root'>, run: string): Promise<void> {
  if (await store.exists(run)) return;
  throw runIsAway(store.root, run);
}

export function trainDataPath(runFolder: string): string {
  return join(runFolder, 'data', 'train.bin');
}

export function testDataPath(runFolder: string): string {
  return join(runFolder, 'data', 'test.jsonl');
}

export function optimizationOf({ learningRate, lrSchedule, adam }: TrainingConfig): OptimizationPlan {
  return { learningRate, schedule: lrSchedule, adam };
}
