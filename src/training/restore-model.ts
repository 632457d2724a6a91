import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import type { CheckpointRow } from '../core/run';
import type { TinkerClient } from '../engines/tinker/client';

export interface Opening {
  readonly client: TinkerClient;
  readonly sessionId: string;
  readonly config: TrainingConfig;
  readonly signal: AbortSignal;
}

/** The model as opened, the row it came from (null: from the start) and what had to be passed over. */
export interface RestoredModel {
  readonly modelId: string;
  readonly nextSeqId: number;
  readonly row: CheckpointRow | null;
  readonly missing: readonly CheckpointRow[];
  readonly remarks: readonly string[];
}

export type LoadedModel = Pick<RestoredModel, 'modelId' | 'nextSeqId'>;

interface Source {
  readonly path: string;
  readonly optimizer: boolean;
  /** Which model of the session it is, from 0. */
  readonly attempt: number;
  /** Nothing is trained in it. */
  readonly isSampledOnly?: boolean;
}

const OF_NO_USE: readonly string[] = ['checkpoint-missing', 'checkpoint-damaged'];

/**
 * Opens a model from the newest checkpoint that the service still has, else from the start: `initial`, or the base model.
 *
 * Only a checkpoint that is gone or damaged is passed over, and said so. Whatever else goes wrong is no reason to
 * train longer than needed: it is thrown.
 */
export async function restoreModel(
  opening: Opening,
  rows: readonly CheckpointRow[],
  initial: string | null,
): Promise<RestoredModel> {
  const candidates = rows.filter((row) => row.state_path !== null).sort((a, b) => b.step - a.step);
  const missing: CheckpointRow[] = [];
  const remarks: string[] = [];
  for (const row of candidates) {
    const source = { path: row.state_path ?? '', optimizer: true, attempt: missing.length };
    const loaded = await loadOrReason(opening, source);
    if (typeof loaded !== 'string') return { ...loaded, row, missing, remarks };
    missing.push(row);
    remarks.push(`Checkpoint ${row.name} (step ${row.step}) was passed over: ${loaded}`);
  }
  return { ...(await start(opening, initial, missing.length)), row: null, missing, remarks };
}

async function start(opening: Opening, initial: string | null, attempt: number): Promise<LoadedModel> {
  const { client, sessionId, config, signal } = opening;
  if (initial === null) {
    const spec = { sessionId, modelSeqId: attempt, baseModel: config.model, lora: loraOf(config) };
    return { ...(await client.createModel(spec, { signal })), nextSeqId: 1 };
  }
  const loaded = await loadOrReason(opening, { path: initial, optimizer: false, attempt });
  if (typeof loaded !== 'string') return loaded;
  throw new DomainError(
    'checkpoint-missing',
    `initialCheckpoint: ${initial} cannot be used, and no later checkpoint of the run is left (${loaded}). ` +
      'Start a new run from a checkpoint that is there.',
  );
}

/** The model, or why its checkpoint is of no use. */
export async function loadOrReason(opening: Opening, source: Source): Promise<LoadedModel | string> {
  try {
    return await load(opening, source);
  } catch (error) {
    if (error instanceof DomainError && (await isOfNoUse(opening, error))) return error.message;
    throw error;
  }
}

function load({ client, sessionId, config, signal }: Opening, source: Source): Promise<LoadedModel> {
  const { attempt, ...from } = source;
  const spec = { sessionId, modelSeqId: attempt, baseModel: config.model, lora: loraOf(config), ...from };
  return client.createModelFromCheckpoint(spec, { signal });
}

/** Some services say "not found" and no more: if the session is there, it is the checkpoint that is not. */
async function isOfNoUse({ client, sessionId, signal }: Opening, error: DomainError): Promise<boolean> {
  if (OF_NO_USE.includes(error.code)) return true;
  if (error.code !== 'session-lost') return false;
  return client.heartbeat(sessionId, { signal }).then(
    () => true,
    () => false,
  );
}

function loraOf({ loraRank, seed }: TrainingConfig) {
  return loraRank === 0
    ? null
    : { rank: loraRank, seed, trainAttn: true, trainMlp: true, trainUnembed: true };
}
