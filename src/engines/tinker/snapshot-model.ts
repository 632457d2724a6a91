import { DomainError } from '../../core/errors';
import { parseCheckpointPath, statePathOf } from './checkpoint-path';
import { numberFrom, stringFrom } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import { collectJson, submit } from './futures';
import type { ModelCalls } from './models';
import type { CallOptions } from './protocol-call';
import type { SamplingSource } from './sampling';

/** Weights that can be sampled for as long as they are lent. */
export interface LentWeights {
  readonly source: SamplingSource;
  /** Does nothing where nothing was opened for them, or it has gone. */
  release(): Promise<void>;
}

interface LendSpec {
  readonly source: SamplingSource;
  readonly sessionId: string;
}

export interface SnapshotCalls {
  lendWeights(spec: LendSpec, options?: CallOptions): Promise<LentWeights>;
}

type Calls = Pick<ModelCalls, 'createModelFromCheckpoint' | 'unloadModel'>;

const NAME = 'snapshot';
const RELEASE_MS = 5000;

/**
 * Sampling without side effects where the service has some.
 *
 * SkyRL copies a snapshot's weights into the model that wrote it when they are sampled: its training would go on from
 * there without a word, and a snapshot could not be sampled once that model is gone. There a snapshot has the state
 * saved beside it, and is sampled in a model of its own that is restored from that state.
 */
export function createSnapshotCalls(connection: Connection, calls: Calls): SnapshotCalls {
  return {
    async lendWeights({ source, sessionId }, { signal } = {}) {
      const { detachesSnapshots } = await connection.profile({ signal });
      if (detachesSnapshots || source.modelPath === undefined)
        return { source, release: () => Promise.resolve() };
      const path = statePathOf(source.modelPath);
      const { baseModel, rank } = await describe(connection, source.modelPath, { signal });
      const { modelId, nextSeqId } = await calls.createModelFromCheckpoint(
        { sessionId, modelSeqId: 0, baseModel, lora: { rank }, path, optimizer: true, isSampledOnly: true },
        { signal },
      );
      const release = () => unload(calls, modelId);
      try {
        const modelPath = await saveForSampling(connection, { modelId, seqId: nextSeqId, signal });
        return { source: { modelPath }, release };
      } catch (error) {
        await release();
        throw error;
      }
    },
  };
}

async function describe(
  connection: Connection,
  modelPath: string,
  { signal }: CallOptions,
): Promise<{ readonly baseModel: string; readonly rank: number }> {
  const subject: Subject = { what: `weights_info ${modelPath}`, missing: 'checkpoint-missing' };
  const body = { tinker_path: statePathOf(modelPath) };
  try {
    const info = await connection.request({ route: 'weights_info', subject, body, signal });
    return {
      baseModel: stringFrom(info['base_model'], 'base_model'),
      rank: numberFrom(info['lora_rank'], 'lora_rank'),
    };
  } catch (error) {
    throw isMissingBeside(error, modelPath) ? unableToSample(modelPath, error) : error;
  }
}

function isMissingBeside(error: unknown, modelPath: string): error is DomainError {
  const isSnapshot = parseCheckpointPath(modelPath).kind !== 'weights';
  return isSnapshot && error instanceof DomainError && error.code === 'checkpoint-missing';
}

function unableToSample(modelPath: string, cause: DomainError): DomainError {
  return new DomainError(
    'checkpoint-missing',
    `${modelPath} cannot be sampled: this service would copy it into the model that wrote it, and ${statePathOf(modelPath)} is not there to sample from instead. Give a training checkpoint, tinker://RUN/weights/NAME.`,
    { cause },
  );
}

async function saveForSampling(
  connection: Connection,
  { modelId, seqId, signal }: CallOptions & { readonly modelId: string; readonly seqId: number },
): Promise<string> {
  const subject: Subject = { what: `save_weights_for_sampler of ${modelId}`, missing: 'session-lost' };
  const type = 'save_weights_for_sampler';
  const body = { model_id: modelId, path: NAME, seq_id: seqId, type };
  const ref = await submit(connection, { route: type, subject, body, isResendable: false, signal });
  const saved = await collectJson(connection, ref, { type: 'SaveWeightsForSampler', subject, signal });
  return stringFrom(saved['path'], 'path');
}

/** What cannot be unloaded soon ends with its session. */
async function unload(calls: Calls, modelId: string): Promise<void> {
  try {
    await calls.unloadModel(modelId, { signal: AbortSignal.timeout(RELEASE_MS) });
  } catch (error) {
    if (!(error instanceof DomainError) && !isTimeout(error)) throw error;
  }
}

function isTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'TimeoutError';
}
