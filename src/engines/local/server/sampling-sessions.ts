import path from 'node:path';
import { DomainError } from '../../../core/errors';
import type { BaseModelInfo, LoraConfig, NamedTensor } from '../model-runtime';
import { requireBaseModel } from './base-models';
import { digestOf } from './body-digest';
import type { CreateSamplingSessionBody } from './bodies';
import { EphemeralWeights } from './checkpoints/ephemeral-weights';
import { parseLoadablePath } from './checkpoints/checkpoint-path';
import { ProtocolError } from './protocol-error';
import type { SamplerSource } from './sampler-cache';
import type { ServiceContext } from './service-context';

/** Resends older than this many requests of a session are drawn again, which changes nothing. */
const REMEMBERED = 20_000;
export interface SamplingSession {
  readonly id: string;
  readonly sessionId: string;
  readonly modelPath: string | null;
  readonly source: SamplerSource;
  readonly digest: string;
  /** What was asked under each number. */
  readonly accepted: Map<number, string>;
}

export interface NumberedSample {
  readonly session: SamplingSession | null;
  readonly requestId: string;
  readonly seqId: number | null;
  readonly digest: string;
}

/** Who may sample, with which weights, and what was asked under each number. */
export class SamplingSessions {
  private readonly sampling = new Map<string, SamplingSession>();
  /** Sessions whose weights are being written. */
  private readonly opening = new Set<string>();
  private readonly ephemeral: EphemeralWeights;

  constructor(
    private readonly context: ServiceContext,
    dataFolder: string,
  ) {
    this.ephemeral = new EphemeralWeights(path.join(dataFolder, 'ephemeral'));
  }

  /** What an earlier process left of its sessions is of no use to anyone. */
  async start(): Promise<void> {
    await this.ephemeral.clear();
  }

  open(body: CreateSamplingSessionBody): string {
    const session = this.context.sessions.require(body.session_id);
    const source = this.sourceOf(body.model_path, body.base_model);
    const sequence = this.context.sessions.takeNumber(session.id, 'sampling', body.sampling_session_seq_id);
    return this.register({
      id: `${session.id}:sample:${sequence}`,
      sessionId: session.id,
      modelPath: body.model_path,
      source,
      digest: digestOf({ kind: 'create_sampling_session', body }),
      accepted: new Map(),
    });
  }

  /** A session over weights that live no longer than it does. */
  async openEphemeral(
    model: {
      readonly id: string;
      readonly sessionId: string;
      readonly base: BaseModelInfo;
      readonly lora: LoraConfig | null;
    },
    sequence: number,
    weights: readonly NamedTensor[],
  ): Promise<string> {
    const id = `${model.sessionId}:sample:${sequence}`;
    this.context.sessions.require(model.sessionId);
    if (this.sampling.has(id) || this.opening.has(id)) {
      throw new DomainError('request-failed', `Sampling session ${id} exists already. Use the next number.`, {
        category: 'user',
      });
    }
    this.opening.add(id);
    try {
      await this.ephemeral.save(id, weights);
    } finally {
      this.opening.delete(id);
    }
    const source: SamplerSource = {
      key: id,
      baseModel: model.base.name,
      lora: model.lora,
      load: () => this.ephemeral.load(id),
    };
    return this.register({
      id,
      sessionId: model.sessionId,
      modelPath: null,
      source,
      digest: digestOf({ kind: 'ephemeral', id }),
      accepted: new Map(),
    });
  }

  require(id: string): SamplingSession {
    const session = this.sampling.get(id);
    if (session) return session;
    throw new ProtocolError(
      404,
      `Sampling session "${id.slice(0, 200)}" not found. It ended with its session or with the engine's process; open a new one.`,
    );
  }

  idsOf(sessionId: string): readonly string[] {
    return [...this.sampling.values()]
      .filter((session) => session.sessionId === sessionId)
      .map(({ id }) => id);
  }

  /** Forgets the sampling sessions of a session at once; their weights are to be removed when nobody draws any more. */
  end(sessionId: string): readonly SamplingSession[] {
    const ended = [...this.sampling.values()].filter((session) => session.sessionId === sessionId);
    for (const session of ended) {
      this.sampling.delete(session.id);
      this.context.futures.retire(session.id);
    }
    return ended;
  }

  async removeWeights(sessions: readonly SamplingSession[]): Promise<void> {
    for (const session of sessions) await this.ephemeral.remove(session.id);
  }

  sourceOf(modelPath: string | null, baseModel: string | null): SamplerSource {
    if (modelPath === null) {
      if (baseModel === null)
        throw new ProtocolError(
          422,
          'Invalid request: sampling_session_id, model_path or base_model is needed.',
        );
      const base = requireBaseModel(this.context.runtime, baseModel);
      return { key: `base:${base.name}`, baseModel: base.name, lora: null, load: async () => null };
    }
    const address = parseLoadablePath(modelPath);
    const meta = this.context.checkpoints.find(address);
    if (!meta) throw new ProtocolError(404, `Checkpoint not found: ${modelPath}`);
    requireBaseModel(this.context.runtime, meta.baseModel);
    return {
      key: `${modelPath}@${meta.createdAt}`,
      baseModel: meta.baseModel,
      lora: meta.lora,
      load: () => this.context.checkpoints.loadWeights(address),
    };
  }

  /** What was forgotten meanwhile is drawn again. */
  isResend({ session, requestId, seqId, digest }: NumberedSample): boolean {
    if (session === null || seqId === null || !this.context.profile.deduplicate) return false;
    const known = session.accepted.get(seqId);
    if (known !== undefined && known !== digest) {
      throw new ProtocolError(
        400,
        `seq_id ${seqId} of ${session.id} was already used for a different request.`,
      );
    }
    return known !== undefined && this.context.futures.has(requestId);
  }

  remember({ session, seqId, digest }: NumberedSample): void {
    if (session === null || seqId === null) return;
    const { accepted } = session;
    accepted.set(seqId, digest);
    const [oldest] = accepted.keys();
    if (accepted.size > REMEMBERED && oldest !== undefined) accepted.delete(oldest);
  }

  private register(session: SamplingSession): string {
    const existing = this.sampling.get(session.id);
    if (existing && existing.digest !== session.digest) {
      throw new ProtocolError(
        400,
        `sampling_session_seq_id of ${session.id} was already used for other weights. Use the next number.`,
      );
    }
    if (!existing) this.sampling.set(session.id, session);
    return session.id;
  }
}
