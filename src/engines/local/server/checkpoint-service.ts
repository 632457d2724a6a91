import { setTimeout as delay } from 'node:timers/promises';
import { hasErrorCode } from '../../../core/error-code';
import type { ModelState } from '../model-runtime';
import type { LoadIntoModelBody, SaveExternalBody, SaveForSamplerBody, SaveWeightsBody } from './bodies';
import { digestOf } from './body-digest';
import { checkRecipients } from './checkpoints/age-files';
import type { CheckpointOrigin } from './checkpoints/checkpoint-files';
import type { CheckpointAddress, CheckpointKind } from './checkpoints/checkpoint-path';
import { formatCheckpointPath, parseLoadablePath } from './checkpoints/checkpoint-path';
import type { Delay, FutureResult } from './future-store';
import { jsonResult } from './future-store';
import type { Accepted } from './model-registry';
import { checkFits } from './model-registry';
import { ProtocolError } from './protocol-error';
import type { SamplingService } from './sampling-service';
import type { ServiceContext } from './service-context';
import type { TrainingModel } from './training-model';
import type { TrainingService } from './training-service';

type NamedSave = SaveWeightsBody & Partial<Pick<SaveExternalBody, 'age_encryption_recipients'>>;

const ROOM_CHECK_MS = 500;
const SAVE_TYPES: Readonly<Record<CheckpointKind, string>> = {
  weights: 'save_weights',
  sampler_weights: 'save_weights_for_sampler',
  external_weights: 'save_weights_external',
};

/**
 * Saves and loads what a model is at the request's place in the order. Only the copy of the tensors holds up the model;
 * the files are written while it trains on.
 */
export class CheckpointService {
  /** Saves accepted and not yet on disk, with the request that asked for each. */
  private readonly reserved = new Map<string, number>();
  private readonly writes = new Map<string, Promise<unknown>>();
  /** Set while the disk has no room for a checkpoint. */
  private full: Delay | null = null;
  private isClosing = false;

  constructor(
    private readonly context: ServiceContext,
    private readonly training: TrainingService,
    private readonly sampling: SamplingService,
  ) {}

  saveWeights(body: SaveWeightsBody): Accepted {
    return this.saveNamed('weights', body, digestOf({ kind: 'save_weights', body }));
  }

  saveForSampler(body: SaveForSamplerBody): Accepted {
    const digest = digestOf({ kind: 'save_weights_for_sampler', body });
    const sessionSequence = body.path === null ? body.sampling_session_seq_id : null;
    if (sessionSequence === null) return this.saveNamed('sampler_weights', body, digest);
    return this.training.submit({
      modelId: body.model_id,
      sequence: body.seq_id,
      digest,
      admit: (model) => {
        this.context.sessions.takeNumber(model.origin.sessionId, 'sampling', sessionSequence);
      },
      execute: (model) => model.weights().exportState({ optimizer: false }),
      complete: async (state, model) => {
        const id = await this.sampling.sessions.openEphemeral(model.origin, sessionSequence, state.weights);
        return jsonResult({ path: null, sampling_session_id: id, type: 'save_weights_for_sampler' });
      },
    });
  }

  /** Weights as other programs load them; the client fetches them file by file. */
  saveExternal(body: SaveExternalBody): Accepted {
    return this.saveNamed('external_weights', body, digestOf({ kind: 'save_weights_external', body }));
  }

  load(body: LoadIntoModelBody): Accepted {
    const address = parseLoadablePath(body.path);
    const { checkpoints } = this.context;
    return this.training.submit({
      modelId: body.model_id,
      sequence: body.seq_id,
      digest: digestOf({ kind: 'load_weights', body }),
      execute: async (model) => {
        await this.settled(address);
        checkFits(model, checkpoints.require(address));
        const state = await checkpoints.loadState(address, { optimizer: body.optimizer });
        await model.weights().importState(state);
      },
      complete: (_value, model) => jsonResult({ path: body.path, model_id: model.id, type: 'load_weights' }),
    });
  }

  async allSettled(): Promise<void> {
    this.isClosing = true;
    await Promise.allSettled(this.writes.values());
  }

  /** Resolves when nothing is being written to this address any more. */
  private async settled(address: CheckpointAddress): Promise<void> {
    await this.writes.get(formatCheckpointPath(address))?.catch(() => null);
  }

  private saveNamed(kind: CheckpointKind, body: NamedSave, digest: string): Accepted {
    const { age_encryption_recipients: recipients = [] } = body;
    const addressOf = (model: TrainingModel, sequence: number): CheckpointAddress => ({
      modelId: model.id,
      kind,
      name: body.path ?? `checkpoint-${String(sequence).padStart(6, '0')}`,
    });
    return this.training.submit({
      modelId: body.model_id,
      sequence: body.seq_id,
      digest,
      admit: (model, sequence) => {
        this.reserve(addressOf(model, sequence), sequence, body.overwrite);
      },
      execute: async (model, sequence) => {
        try {
          await checkRecipients(recipients);
          return await model.weights().exportState({ optimizer: kind === 'weights' });
        } catch (error) {
          this.release(addressOf(model, sequence), sequence);
          throw error;
        }
      },
      delay: () => this.full,
      complete: (state, model, sequence) => {
        const createdAt = new Date(this.context.now());
        const origin: CheckpointOrigin = {
          ...addressOf(model, sequence),
          baseModel: model.origin.base.name,
          lora: model.origin.lora,
          sequence,
          createdAt: createdAt.toISOString(),
          expiresAt: expiryOf(createdAt, body.ttl_seconds),
          userMetadata: body.user_metadata,
          ...(recipients.length > 0 && { ageRecipients: recipients }),
        };
        return this.write(origin, state);
      },
    });
  }

  private reserve(address: CheckpointAddress, sequence: number, isOverwriting: boolean): void {
    const path = formatCheckpointPath(address);
    if (!isOverwriting && (this.reserved.has(path) || this.context.checkpoints.find(address))) {
      throw new ProtocolError(
        400,
        `Checkpoint ${path} already exists. Save under another name or set overwrite.`,
      );
    }
    this.reserved.set(path, sequence);
  }

  private release(address: CheckpointAddress, sequence: number): void {
    const path = formatCheckpointPath(address);
    if (this.reserved.get(path) === sequence) this.reserved.delete(path);
  }

  /** Writes to one address follow one another. */
  private async write(origin: CheckpointOrigin, state: ModelState): Promise<FutureResult> {
    const path = formatCheckpointPath(origin);
    const earlier = this.writes.get(path) ?? Promise.resolve();
    const write = earlier.catch(() => null).then(() => this.saveWhenRoom(origin, state));
    this.writes.set(path, write);
    try {
      await write;
    } finally {
      if (this.writes.get(path) === write) this.writes.delete(path);
      this.release(origin, origin.sequence);
    }
    return jsonResult({ path, type: SAVE_TYPES[origin.kind] });
  }

  /** A full disk is a state that ends; failing the save would cost its sender the steps since the one before. */
  private async saveWhenRoom(origin: CheckpointOrigin, state: ModelState): Promise<void> {
    for (;;) {
      try {
        await this.context.checkpoints.save(origin, state);
        this.full = null;
        return;
      } catch (error) {
        if (this.isClosing || !isDiskFull(error)) throw error;
        this.full = { queueState: 'paused_capacity', reason: 'the disk of the training service is full' };
      }
      await delay(ROOM_CHECK_MS);
    }
  }
}

export function expiryOf(from: Date, ttlSeconds: number | null): string | null {
  return ttlSeconds === null ? null : new Date(from.getTime() + ttlSeconds * 1000).toISOString();
}

function isDiskFull(error: unknown): boolean {
  return hasErrorCode(error, 'ENOSPC', 'EDQUOT');
}
