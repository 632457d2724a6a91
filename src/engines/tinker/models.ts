import { DomainError } from '../../core/errors';
import { cleanSlot } from './clean-slot';
import type { JsonObject } from './codec/json-values';
import { numberFrom, stringFrom } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import { failureOf, isRouteMissing } from './failures';
import { collectJson, submit } from './futures';
import { refusalOf } from './model-refusals';
import type { CallOptions } from './protocol-call';
import { jsonOf } from './protocol-call';

interface LoraConfig {
  readonly rank: number;
  readonly seed?: number;
  readonly trainUnembed?: boolean;
  readonly trainMlp?: boolean;
  readonly trainAttn?: boolean;
}

interface ModelSpec {
  readonly sessionId: string;
  /** Which model of its session it is, from 0; the same again means the same model. */
  readonly modelSeqId: number;
  readonly baseModel: string;
  /** null trains all weights. */
  readonly lora: LoraConfig | null;
}

interface RestoreSpec extends ModelSpec {
  readonly path: string;
  /** Whether Adam's moments and step count come back with the weights. */
  readonly optimizer: boolean;
  /** It is only sampled from, so that gradients do not matter. */
  readonly isSampledOnly?: boolean;
}

/**
 * Opening a model throws `engine-busy` where the service has no room for another one, `checkpoint-missing` and
 * `checkpoint-damaged` where another checkpoint would do, and `session-lost` where its session has ended.
 */
export interface ModelCalls {
  createModel(spec: ModelSpec, options?: CallOptions): Promise<{ readonly modelId: string }>;
  /** A model that continues a checkpoint; `nextSeqId` is the first free sequence number. */
  createModelFromCheckpoint(
    spec: RestoreSpec,
    options?: CallOptions,
  ): Promise<{ readonly modelId: string; readonly nextSeqId: number }>;
  /** Nothing is done to the model any more once this resolves. Does nothing where the model is gone already. */
  unloadModel(modelId: string, options?: CallOptions): Promise<void>;
  /** Optimizer steps the model was given, also in an earlier life of the server; null where the server does not count. */
  appliedSteps(modelId: string, options?: CallOptions): Promise<number | null>;
}

/** A model that could not be loaded is cleared away if that is quickly done; else it ends with its session. */
const UNLOAD_MS = 5000;

export function createModelCalls(connection: Connection): ModelCalls {
  return {
    createModel: (spec, options = {}) => namingRefusal(() => createCleanModel(connection, spec, options)),
    async createModelFromCheckpoint(spec, options = {}) {
      const { restore, lacks } = await connection.profile(options);
      if (!spec.optimizer && lacks.includes('fresh-optimizer')) throw unableToForget(spec);
      return namingRefusal(async () =>
        restore === 'create-via-load'
          ? { modelId: await createViaLoad(connection, spec, options), nextSeqId: 1 }
          : { modelId: await createThenLoad(connection, spec, options), nextSeqId: 2 },
      );
    },
    unloadModel: (modelId, options = {}) => unload(connection, modelId, options),
    async appliedSteps(modelId, { signal } = {}) {
      const { countsAppliedSteps } = await connection.profile({ signal });
      if (!countsAppliedSteps) return null;
      const route = `/everstep/applied_steps?model_id=${encodeURIComponent(modelId)}`;
      const subject: Subject = { what: `applied steps of ${modelId}`, missing: 'engine-refused' };
      const reply = await connection.send({ route, subject, method: 'GET', signal });
      if (isRouteMissing(reply)) return null;
      if (reply.status >= 300) throw failureOf(reply, subject);
      return numberFrom(jsonOf(reply, subject)['applied_steps'], 'applied_steps');
    },
  };
}

function unableToForget({ path }: RestoreSpec): DomainError {
  return new DomainError(
    'engine-refused',
    `load_weights ${path}: this service always restores the optimizer with the weights, so a run cannot start from them with a fresh one. Leave initialCheckpoint out.`,
  );
}

async function unload(connection: Connection, modelId: string, { signal }: CallOptions): Promise<void> {
  const subject: Subject = { what: `unload_model ${modelId}`, missing: 'session-lost' };
  const body = { model_id: modelId, type: 'unload_model' };
  try {
    const ref = await submit(connection, { route: 'unload_model', subject, body, signal });
    await collectJson(connection, ref, { type: 'UnloadModel', subject, signal });
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'session-lost')) throw error;
  }
}

async function namingRefusal<Result>(open: () => Promise<Result>): Promise<Result> {
  try {
    return await open();
  } catch (error) {
    throw refusalOf(error);
  }
}

async function createCleanModel(
  connection: Connection,
  spec: ModelSpec,
  options: CallOptions,
): Promise<{ modelId: string }> {
  const calls = {
    create: async () => (await createModel(connection, spec, options)).modelId,
    unload: (modelId: string) => unload(connection, modelId, options),
  };
  await cleanSlot(connection, calls, options);
  return createModel(connection, spec, options);
}

async function createModel(
  connection: Connection,
  spec: ModelSpec,
  { signal }: CallOptions,
): Promise<{ modelId: string }> {
  const subject: Subject = { what: `create_model ${spec.baseModel}`, missing: 'session-lost' };
  const body: JsonObject = {
    session_id: spec.sessionId,
    model_seq_id: spec.modelSeqId,
    base_model: spec.baseModel,
    ...(spec.lora && { lora_config: loraToJson(spec.lora) }),
    optimizer_config: { type: 'adamw' },
    type: 'create_model',
  };
  const ref = await submit(connection, { route: 'create_model', subject, body, signal });
  const result = await collectJson(connection, ref, { type: 'CreateModel', subject, signal });
  return { modelId: stringFrom(result['model_id'], 'model_id') };
}

async function createViaLoad(
  connection: Connection,
  spec: RestoreSpec,
  options: CallOptions,
): Promise<string> {
  const result = await loadWeights(connection, spec, {
    ...options,
    target: {
      session_id: spec.sessionId,
      model_seq_id: spec.modelSeqId,
      base_model: spec.baseModel,
      optimizer_config: { type: 'adamw' },
    },
  });
  const modelId = result['model_id'];
  return typeof modelId === 'string' ? modelId : `${spec.sessionId}:train:${spec.modelSeqId}`;
}

/** Loading is only allowed as the first request of a model. */
async function createThenLoad(
  connection: Connection,
  spec: RestoreSpec,
  options: CallOptions,
): Promise<string> {
  const create = spec.isSampledOnly ? createModel : createCleanModel;
  const { modelId } = await create(connection, spec, options);
  try {
    await loadWeights(connection, spec, { ...options, target: { model_id: modelId, seq_id: 1 } });
    return modelId;
  } catch (error) {
    await unload(connection, modelId, { signal: AbortSignal.timeout(UNLOAD_MS) }).catch(() => undefined);
    throw error;
  }
}

async function loadWeights(
  connection: Connection,
  { path, optimizer }: RestoreSpec,
  { signal, target }: CallOptions & { readonly target: JsonObject },
): Promise<JsonObject> {
  const subject: Subject = { what: `load_weights ${path}`, missing: 'session-lost' };
  const body = { ...target, path, optimizer, type: 'load_weights' };
  const ref = await submit(connection, { route: 'load_weights', subject, body, signal });
  return collectJson(connection, ref, { type: 'LoadWeights', subject, signal });
}

function loraToJson(lora: LoraConfig): JsonObject {
  return {
    rank: lora.rank,
    ...(lora.seed !== undefined && { seed: lora.seed }),
    train_unembed: lora.trainUnembed ?? true,
    train_mlp: lora.trainMlp ?? true,
    train_attn: lora.trainAttn ?? true,
  };
}
