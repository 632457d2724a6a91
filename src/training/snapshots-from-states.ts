import { anySignal } from '../core/concurrency/any-signal';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { DomainError } from '../core/errors';
import type { CheckpointRow } from '../core/run';
import { stepName } from '../core/schedules/checkpoint-schedule';
import type { ModelIncarnation } from '../core/training-plan';
import type { EngineAccess } from './engine-access';
import type { SessionOwner } from './fence-model';
import { endLife, metadataOf } from './fence-model';
import { keepSession } from './keep-session';
import type { LoadedModel, Opening } from './restore-model';
import { loadOrReason } from './restore-model';
import type { RunRecord } from './run-folder';

export interface SnapshotsToMake {
  readonly record: RunRecord;
  readonly owner: SessionOwner;
  /** The run's last model, which nobody trains any more: it makes room. */
  readonly lost: ModelIncarnation | null;
  /** In order of their steps. */
  readonly states: readonly CheckpointRow[];
}

export interface MakingOptions {
  readonly signal: AbortSignal;
  readonly onWaiting: TellWaiting;
}

/** A state that cannot be loaded any more, and why. */
export interface UselessState {
  readonly row: CheckpointRow;
  readonly reason: string;
}

export interface MadeSnapshots {
  /** Sampler weights by their step. */
  readonly paths: ReadonlyMap<number, string>;
  /** The models that saved them, which are gone. */
  readonly models: readonly string[];
  /** The first state that is of no use; those after it were not tried. */
  readonly useless: UselessState | null;
}

const NOTHING_MADE: MadeSnapshots = { paths: new Map(), models: [], useless: null };
const CLEARING_MS = 5000;
const HEARTBEAT_MS = 5000;
/** What nobody deletes expires: its workflow was terminated, or the attempt that made it died. No evaluation waits so long. */
const LIFE_SECONDS = 30 * 86_400;

/**
 * Saves weights to sample from of steps of which a run kept its state alone, each through a model that is let go of at once.
 *
 * They are the weights that the steps had. Whoever measures them deletes them; what an attempt made that fails is deleted here.
 */
export async function snapshotsFromStates(
  engines: EngineAccess,
  wanted: SnapshotsToMake,
  { signal, onWaiting }: MakingOptions,
): Promise<MadeSnapshots> {
  const { record, owner, lost, states } = wanted;
  if (states.length === 0) return NOTHING_MADE;
  const { config } = record;
  const engine = await engines.connect(config.engine, {
    baseModel: config.model,
    signal,
    onWait: (_waiting, longest) => {
      onWaiting(longest && `the training service: ${longest.waiting.what}`);
    },
  });
  try {
    if (lost) await endLife(engine, lost, signal);
    const spec = { tags: config.engine.tags, userMetadata: metadataOf(owner) };
    const sessionId = await engine.client.createSession(spec, { signal });
    return await makeInSession({ client: engine.client, sessionId, config, signal }, states);
  } catch (error) {
    throw isPassing(error) ? tryAgain(error) : error;
  } finally {
    await engine.client.close();
  }
}

async function makeInSession(opening: Opening, states: readonly CheckpointRow[]): Promise<MadeSnapshots> {
  const { client, sessionId, signal } = opening;
  const ending = new AbortController();
  const kept = keepSession(client, opening, {
    signal: anySignal([signal, ending.signal]),
    intervalMs: HEARTBEAT_MS,
  });
  // One that is lost shows in the requests.
  kept.catch(() => undefined);
  try {
    return await makeAll(opening, states);
  } finally {
    ending.abort();
    await quietly(client.finishSession(sessionId, 'success', { signal: AbortSignal.timeout(CLEARING_MS) }));
  }
}

async function makeAll(opening: Opening, states: readonly CheckpointRow[]): Promise<MadeSnapshots> {
  const paths = new Map<number, string>();
  const models: string[] = [];
  try {
    for (const [attempt, row] of states.entries()) {
      const source = { path: row.state_path ?? '', optimizer: true, attempt, isSampledOnly: true };
      const model = await loadOrReason(opening, source);
      if (typeof model === 'string') return { paths, models, useless: { row, reason: model } };
      models.push(model.modelId);
      paths.set(row.step, await saveAndUnload(opening, model, stepName(row.step)));
    }
    return { paths, models, useless: null };
  } catch (error) {
    const { client } = opening;
    for (const path of paths.values())
      await quietly(client.deleteCheckpoint(path, { signal: AbortSignal.timeout(CLEARING_MS) }));
    throw error;
  }
}

async function saveAndUnload(
  { client, signal }: Opening,
  { modelId, nextSeqId: seqId }: LoadedModel,
  name: string,
): Promise<string> {
  const spec = { modelId, seqId, name, ttlSeconds: LIFE_SECONDS };
  const save = await client.submitSaveWeightsForSampler(spec, { signal });
  const { path } = await client.collectSave(save, { signal });
  await client.unloadModel(modelId, { signal });
  return path;
}

/** What stays ends with its session, or is looked for when the run closes. */
async function quietly(work: Promise<void>): Promise<void> {
  await work.catch(() => undefined);
}

/** As where the run's own model is opened. */
function isPassing(error: unknown): error is DomainError {
  return error instanceof DomainError && (error.code === 'session-lost' || error.category === 'server');
}

function tryAgain(error: DomainError): DomainError {
  return new DomainError('engine-busy', error.message, { retryable: true, cause: error });
}
