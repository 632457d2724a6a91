import type { SupervisedConfig } from '../config/supervised-config';
import { DomainError } from '../core/errors';
import type { CheckpointRow } from '../core/run';
import type { ModelIncarnation, OpenedModel, OpenModelInput, TrainingPosition } from '../core/training-plan';
import type { TinkerClient } from '../engines/tinker/client';
import type { RunStore } from '../stores/run-store';
import type { EngineAccess, EngineConnection } from './engine-access';
import type { RunRecord } from './run-folder';
import { closeJournals, openJournals } from './step-journals';

export interface OpenModelDependencies {
  readonly store: RunStore;
  readonly engines: EngineAccess;
  readonly record: RunRecord;
  /** The lease under which the journals are cut; rises with every attempt. */
  readonly epoch: number;
  readonly signal: AbortSignal;
}

interface Opening {
  readonly client: TinkerClient;
  readonly sessionId: string;
  readonly config: SupervisedConfig;
  readonly signal: AbortSignal;
}

/** The model as opened, the row it came from (null: from the start) and what had to be passed over. */
interface Restored {
  readonly modelId: string;
  readonly nextSeqId: number;
  readonly row: CheckpointRow | null;
  readonly missing: readonly CheckpointRow[];
  readonly remarks: readonly string[];
}

/**
 * Opens the run's model: from the newest checkpoint with optimizer state that its workflow has heard of, or the one
 * before it, or the start. A later checkpoint would skip evaluations of the steps before it.
 *
 * Repeating it opens another session; the earlier one gets no heartbeat and is unloaded by the service. On a
 * service that is not deterministic, rows after the checkpoint are cut: their steps will be trained anew.
 */
export async function openModel(
  dependencies: OpenModelDependencies,
  input: OpenModelInput,
): Promise<OpenedModel> {
  const { engines, record, signal, store } = dependencies;
  const engine = await engines.connect(record.config.engine, { baseModel: record.config.model });
  try {
    if (input.previous) await giveUp(engine.client, input.previous);
    const sessionId = await engine.client.createSession(
      {
        tags: record.config.engine.tags,
        userMetadata: { run: input.run, incarnation: String(input.incarnation) },
      },
      { signal },
    );
    const opening = { client: engine.client, sessionId, config: record.config, signal };
    const known = (await store.readCheckpoints(input.run)).filter(
      ({ step }) => step <= input.collectedThrough,
    );
    const restored = await restore(opening, known, record.initialPath);
    const lastStep = (await store.readMetrics(input.run)).at(-1)?.step ?? 0;
    await cutJournals(dependencies, engine, restored);
    return {
      model: incarnationOf(input, engine, { sessionId, modelId: restored.modelId }),
      position: positionAfter(restored),
      stepsToReplay: Math.max(0, lastStep - Math.max(0, restored.row?.step ?? 0)),
      remarks: restored.remarks,
    };
  } finally {
    await engine.client.close();
  }
}

/** The service may have it still; it allows few models at a time. */
async function giveUp(client: TinkerClient, { modelId, sessionId }: ModelIncarnation): Promise<void> {
  try {
    await client.unloadModel(modelId);
    await client.finishSession(sessionId, 'interrupted');
  } catch (error) {
    if (error instanceof DomainError && error.code === 'unreachable') throw error;
  }
}

async function restore(
  opening: Opening,
  rows: readonly CheckpointRow[],
  initial: string | null,
): Promise<Restored> {
  const candidates = rows.filter((row) => row.state_path !== null).sort((a, b) => b.step - a.step);
  const missing: CheckpointRow[] = [];
  const remarks: string[] = [];
  for (const row of candidates) {
    try {
      const path = row.state_path ?? '';
      return {
        ...(await load(opening, { path, optimizer: true, attempt: missing.length })),
        row,
        missing,
        remarks,
      };
    } catch (error) {
      if (!isGone(error)) throw error;
      missing.push(row);
      remarks.push(`Checkpoint ${row.name} cannot be loaded (${error.message}); trying the one before it.`);
    }
  }
  return { ...(await start(opening, initial, missing.length)), row: null, missing, remarks };
}

async function start(
  { client, sessionId, config, signal }: Opening,
  initial: string | null,
  attempt: number,
) {
  if (initial !== null) {
    return load({ client, sessionId, config, signal }, { path: initial, optimizer: false, attempt });
  }
  const spec = { sessionId, modelSeqId: attempt, baseModel: config.model, lora: loraOf(config) };
  const { modelId } = await client.createModel(spec, { signal });
  return { modelId, nextSeqId: 1 };
}

function load(
  { client, sessionId, config, signal }: Opening,
  from: { readonly path: string; readonly optimizer: boolean; readonly attempt: number },
) {
  const { attempt, ...source } = from;
  const spec = { sessionId, modelSeqId: attempt, baseModel: config.model, lora: loraOf(config), ...source };
  return client.createModelFromCheckpoint(spec, { signal });
}

function loraOf({ loraRank, seed }: SupervisedConfig) {
  return loraRank === 0
    ? null
    : { rank: loraRank, seed, trainAttn: true, trainMlp: true, trainUnembed: true };
}

/** A checkpoint the service refuses is passed over; a service that is away or full is not the checkpoint's fault. */
function isGone(error: unknown): error is DomainError {
  return error instanceof DomainError && !error.retryable && error.code !== 'unauthorized';
}

async function cutJournals(
  { store, record, epoch }: OpenModelDependencies,
  { profile }: EngineConnection,
  { row, missing }: Restored,
): Promise<void> {
  const gone = new Set(missing.map(({ name }) => name));
  const base = row?.step ?? -1;
  const isKept = profile.deterministic
    ? () => true
    : (other: { readonly step: number }) => other.step <= base;
  await closeJournals(
    await openJournals({
      store,
      run: record.run,
      epoch,
      keepSteps: isKept,
      keepCheckpoints: (checkpoint) => !gone.has(checkpoint.name) && isKept(checkpoint),
    }),
  );
}

function incarnationOf(
  { incarnation, lineage }: OpenModelInput,
  { url, profile }: EngineConnection,
  ids: { readonly sessionId: string; readonly modelId: string },
): ModelIncarnation {
  const { maxChunkDatums, maxChunkBytes } = profile;
  return {
    ...ids,
    incarnation,
    lineage,
    engineUrl: url,
    isDeterministic: profile.deterministic,
    deduplicates: profile.deduplicates,
    chunkLimits: { maxChunkDatums, maxChunkBytes },
  };
}

function positionAfter({ row, nextSeqId }: Restored): TrainingPosition {
  const step = row?.step ?? -1;
  return {
    collectedThrough: step,
    submittedThrough: step,
    nextSeqId,
    inFlight: [],
    tokens: row?.elapsed_tokens ?? 0,
  };
}
