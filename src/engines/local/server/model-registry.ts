import { DomainError } from '../../../core/errors';
import type { BaseModelInfo, LoraConfig, TrainableModel } from '../model-runtime';
import { requireBaseModel } from './base-models';
import { digestOf } from './body-digest';
import type { CreateModelBody, LoadNewModelBody } from './bodies';
import { parseLoadablePath } from './checkpoints/checkpoint-path';
import type { FutureResult } from './future-store';
import { jsonResult } from './future-store';
import type { UserMetadata } from './metadata-budget';
import { ProtocolError } from './protocol-error';
import type { ServiceContext } from './service-context';
import { TrainingModel } from './training-model';

/** The answer to every heavy request: where to collect its result. */
export interface Accepted {
  readonly request_id: string;
  readonly model_id: string;
}

interface NewModel {
  readonly sessionId: string;
  readonly sequence: number | null;
  readonly base: BaseModelInfo;
  readonly lora: LoraConfig | null;
  readonly userMetadata: UserMetadata;
  readonly digest: string;
  readonly create: () => Promise<TrainableModel>;
  readonly result: (modelId: string) => FutureResult;
}

/** Ended ones that are still known by name. */
const MOST_ENDED = 10_000;

/** Models in memory, by `{session id}:train:{number}`. They die with their session and with the process. */
export class ModelRegistry {
  private readonly models = new Map<string, TrainingModel>();
  /** The earliest first. */
  private readonly ended = new Set<string>();

  constructor(private readonly context: ServiceContext) {}

  list(): readonly TrainingModel[] {
    return [...this.models.values()];
  }

  find(modelId: string): TrainingModel | undefined {
    return this.models.get(modelId);
  }

  require(modelId: string): TrainingModel {
    const model = this.models.get(modelId);
    if (!model) {
      throw new ProtocolError(
        404,
        `Model "${modelId.slice(0, 200)}" not found. Models end with the engine's process; restore from a checkpoint.`,
      );
    }
    if (model.endedBecause !== null) {
      throw new ProtocolError(
        404,
        `Model "${modelId}" was unloaded: ${model.endedBecause}. Restore from a checkpoint.`,
      );
    }
    model.lastRequestAt = new Date().toISOString();
    return model;
  }

  create(body: CreateModelBody): Accepted {
    const { runtime } = this.context;
    const base = requireBaseModel(runtime, body.base_model);
    const lora = body.lora;
    return this.add({
      sessionId: body.session_id,
      sequence: body.model_seq_id,
      base,
      lora,
      userMetadata: body.user_metadata,
      digest: digestOf({ kind: 'create_model', body }),
      create: () => runtime.createModel({ baseModel: base.name, lora }),
      result: (modelId) => jsonResult({ model_id: modelId, type: 'create_model' }),
    });
  }

  /** A new model that begins as a checkpoint, in one request. */
  createFromCheckpoint(body: LoadNewModelBody): Accepted {
    const { runtime, checkpoints } = this.context;
    const address = parseLoadablePath(body.path);
    const checkpoint = checkpoints.find(address);
    if (!checkpoint) throw new ProtocolError(404, `Checkpoint not found: ${body.path}`);
    if (body.base_model !== null && body.base_model !== checkpoint.baseModel) {
      throw new ProtocolError(
        400,
        `Checkpoint ${body.path} is of ${checkpoint.baseModel}, not of ${body.base_model}.`,
      );
    }
    const base = requireBaseModel(runtime, checkpoint.baseModel);
    return this.add({
      sessionId: body.session_id,
      sequence: body.model_seq_id,
      base,
      lora: checkpoint.lora,
      userMetadata: body.user_metadata,
      digest: digestOf({ kind: 'load_weights', body }),
      create: async () => {
        const state = await checkpoints.loadState(address, { optimizer: body.optimizer });
        const trainable = await runtime.createModel({ baseModel: base.name, lora: checkpoint.lora });
        await trainable.importState(state);
        return trainable;
      },
      result: (modelId) => jsonResult({ path: body.path, model_id: modelId, type: 'load_weights' }),
    });
  }

  unload(modelId: string, reason: string): Accepted {
    const model = this.models.get(modelId);
    if (!model) throw new ProtocolError(404, `Model "${modelId.slice(0, 200)}" not found.`);
    const requestId = `${modelId}:unload`;
    if (!this.context.futures.has(requestId)) {
      const done = model.unload(reason).then(() => jsonResult({ model_id: modelId, type: 'unload_model' }));
      this.context.futures.add(requestId, done, { owner: modelId });
      this.context.futures.retire(modelId);
      this.noteEnded(modelId);
    }
    return { request_id: requestId, model_id: modelId };
  }

  endSession(sessionId: string, reason: string): void {
    for (const model of this.models.values()) {
      if (model.origin.sessionId === sessionId && model.endedBecause === null) this.unload(model.id, reason);
    }
  }

  private add(created: NewModel): Accepted {
    const { sessions, futures, profile } = this.context;
    const sequence = sessions.takeNumber(created.sessionId, 'model', created.sequence);
    const id = `${created.sessionId}:train:${sequence}`;
    const accepted = { request_id: `${id}:create`, model_id: id };
    const existing = this.models.get(id);
    if (existing) {
      if (existing.origin.digest === created.digest) return accepted;
      throw new ProtocolError(
        400,
        `model_seq_id ${sequence} of this session was already used for a different model.`,
      );
    }
    this.requireRoom();
    this.context.metadata.take(created.userMetadata);
    const model = new TrainingModel({ ...created, id }, profile.ordered);
    this.models.set(id, model);
    const started = model.start(created.create).then(() => created.result(id));
    futures.add(accepted.request_id, started, { owner: id });
    started.catch(() => {
      futures.retire(id);
      this.noteEnded(id);
    });
    return accepted;
  }

  private noteEnded(modelId: string): void {
    const origin = this.models.get(modelId)?.origin;
    if (origin) {
      this.context.metadata.give(origin.userMetadata);
      origin.userMetadata = null;
    }
    this.ended.add(modelId);
    const [earliest] = this.ended;
    if (this.ended.size <= MOST_ENDED || earliest === undefined) return;
    this.ended.delete(earliest);
    this.models.delete(earliest);
  }

  private requireRoom(): void {
    const { maxModels } = this.context.profile;
    const count = this.list().filter(({ endedBecause }) => endedBecause === null).length;
    if (maxModels === null || count < maxModels) return;
    throw new ProtocolError(400, `Maximum number of models (${maxModels}) reached. Unload one first.`);
  }
}

/** Refuses a checkpoint whose tensors do not fit the model. */
export function checkFits(
  model: TrainingModel,
  checkpoint: { readonly baseModel: string; readonly lora: LoraConfig | null },
): void {
  const { base, lora } = model.origin;
  if (checkpoint.baseModel === base.name && hasSameTensors(checkpoint.lora, lora)) return;
  const describe = (name: string, config: LoraConfig | null): string =>
    `${name} with ${config ? `LoRA of rank ${config.rank} on ${partsOf(config)}` : 'all weights trained'}`;
  throw new DomainError(
    'request-failed',
    `The checkpoint is of ${describe(checkpoint.baseModel, checkpoint.lora)}, the model of ${describe(base.name, lora)}. Create a model of the same kind.`,
    { category: 'user' },
  );
}

function hasSameTensors(one: LoraConfig | null, other: LoraConfig | null): boolean {
  if (one === null || other === null) return one === other;
  return one.rank === other.rank && partsOf(one) === partsOf(other);
}

function partsOf(lora: LoraConfig): string {
  const parts = [
    ...(lora.trainAttn ? ['attention'] : []),
    ...(lora.trainMlp ? ['MLP'] : []),
    ...(lora.trainUnembed ? ['unembedding'] : []),
  ];
  return parts.join(', ');
}
