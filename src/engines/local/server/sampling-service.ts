import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { DomainError } from '../../../core/errors';
import type { SampleResult } from '../../../core/sampling';
import { countScoreCells } from '../../../core/sampling-scores';
import type { AsampleRequest } from '../../tinker/codec';
import type { BaseModelInfo, LoraConfig, NamedTensor } from '../model-runtime';
import { requireBaseModel } from './base-models';
import { digestOf } from './body-digest';
import type { CreateSamplingSessionBody } from './bodies';
import { EphemeralWeights } from './checkpoints/ephemeral-weights';
import { parseCheckpointPath } from './checkpoints/checkpoint-path';
import { DrawTurns } from './draw-turns';
import { PendingScores } from './pending-scores';
import type { ScoredLast } from './prompt-scores';
import { checkScoredLast, keepScores } from './prompt-scores';
import { ProtocolError } from './protocol-error';
import { checkPrompt, checkScores } from './sample-checks';
import { sampleFuture } from './sample-future';
import type { SamplerSource } from './sampler-cache';
import { SamplerCache } from './sampler-cache';
import type { ServiceContext } from './service-context';

/** Resends older than this many requests of a session are drawn again, which changes nothing. */
const REMEMBERED = 20_000;
/** Owner of the results of samples drawn outside any sampling session. */
const SESSIONLESS = 'sample';

interface SamplingSession {
  readonly id: string;
  readonly sessionId: string;
  readonly modelPath: string | null;
  readonly source: SamplerSource;
  readonly digest: string;
  /** What was asked under each number. */
  readonly accepted: Map<number, string>;
}

interface Draw {
  readonly requestId: string;
  /** Its draws take turns with those of others. */
  readonly client: string;
  readonly source: SamplerSource;
}

interface SampleOptions {
  /** As many tokens as the context takes. */
  readonly isUnlimited: boolean;
  readonly scoredLast: ScoredLast;
}

interface NumberedSample {
  readonly session: SamplingSession | null;
  readonly requestId: string;
  readonly seqId: number | null;
  readonly digest: string;
}

export interface AcceptedSample {
  readonly request_id: string;
  readonly sample_sequence_ids: readonly string[];
}

/** Sampling sessions and the drawing itself. */
export class SamplingService {
  readonly samplers: SamplerCache;
  private readonly sampling = new Map<string, SamplingSession>();
  /** Sessions whose weights are being written. */
  private readonly opening = new Set<string>();
  private readonly running = new Map<string, AbortController>();
  private readonly draws = new Set<Promise<unknown>>();
  private readonly turns = new DrawTurns();
  private readonly ephemeral: EphemeralWeights;
  private readonly pendingScores = new PendingScores();

  constructor(
    private readonly context: ServiceContext,
    dataFolder: string,
  ) {
    this.samplers = new SamplerCache(context.runtime);
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

  sample(asked: AsampleRequest, { isUnlimited, scoredLast }: SampleOptions): AcceptedSample {
    const session = asked.samplingSessionId === null ? null : this.require(asked.samplingSessionId);
    const source = session?.source ?? this.sourceOf(asked.modelPath, asked.baseModel);
    const base = requireBaseModel(this.context.runtime, source.baseModel);
    checkPrompt(asked.request.prompt, base);
    checkScoredLast(asked.request, scoredLast);
    const asample = isUnlimited ? filling(asked, base.contextLength) : asked;
    checkScores(asample.request, base);
    const requestId = requestIdOf(session, this.context.profile.deduplicate ? asample.seqId : null);
    const accepted = {
      request_id: requestId,
      sample_sequence_ids: Array.from(
        { length: asample.request.numSamples },
        (_, index) => `${requestId}:${index}`,
      ),
    };
    const digest = digestOf({ asample, scoredLast });
    const numbered = { session, requestId, seqId: asample.seqId, digest };
    if (this.isResend(numbered)) return accepted;
    const cells = countScoreCells(asample.request, base.contextLength);
    this.pendingScores.requireRoom(cells);
    const { client, owner } = holdersOf(session);
    this.turns.requireRoom(client);
    remember(numbered);
    const result = this.draw({ requestId, client, source }, asample);
    this.track(result);
    const answer = result.then((drawn) => sampleFuture(keepScores(drawn, scoredLast)));
    this.pendingScores.track(cells, result);
    this.context.futures.add(requestId, answer, { owner });
    return accepted;
  }

  /** True where there was something to cancel. */
  cancel(requestId: string): boolean {
    const controller = this.running.get(requestId);
    controller?.abort();
    return controller !== undefined;
  }

  idsOf(sessionId: string): readonly string[] {
    return [...this.sampling.values()]
      .filter((session) => session.sessionId === sessionId)
      .map(({ id }) => id);
  }

  async endSession(sessionId: string): Promise<void> {
    const ended = [...this.sampling.values()].filter((session) => session.sessionId === sessionId);
    for (const session of ended) {
      this.sampling.delete(session.id);
      this.context.futures.retire(session.id);
    }
    for (const requestId of this.running.keys()) {
      if (requestId.startsWith(`${sessionId}:sample:`)) this.cancel(requestId);
    }
    for (const session of ended) await this.ephemeral.remove(session.id);
  }

  /** Nothing is drawn any more when this resolves, and no weights are in memory. */
  async stop(): Promise<void> {
    for (const controller of this.running.values()) controller.abort();
    await Promise.all(this.draws);
    this.samplers.disposeAll();
  }

  private track(result: Promise<unknown>): void {
    const settled = result
      .catch(() => null)
      .finally(() => {
        this.draws.delete(settled);
      });
    this.draws.add(settled);
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

  private sourceOf(modelPath: string | null, baseModel: string | null): SamplerSource {
    if (modelPath === null) {
      if (baseModel === null)
        throw new ProtocolError(
          422,
          'Invalid request: sampling_session_id, model_path or base_model is needed.',
        );
      const base = requireBaseModel(this.context.runtime, baseModel);
      return { key: `base:${base.name}`, baseModel: base.name, lora: null, load: async () => null };
    }
    const address = parseCheckpointPath(modelPath);
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
  private isResend({ session, requestId, seqId, digest }: NumberedSample): boolean {
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

  private async draw({ requestId, client, source }: Draw, asample: AsampleRequest): Promise<SampleResult> {
    const controller = new AbortController();
    this.running.set(requestId, controller);
    try {
      const { signal } = controller;
      const sequenceCount = asample.request.numSamples;
      const result = await this.turns.take({ owner: client, sequenceCount, signal }, () =>
        this.samplers.use(source, (sampler) => sampler.sample(asample.request, { signal })),
      );
      this.context.counters.tokensSampled += result.sequences.reduce(
        (sum, { tokens }) => sum + tokens.length,
        0,
      );
      return result;
    } catch (error) {
      if (!controller.signal.aborted) throw error;
      throw new DomainError('request-failed', 'The request was cancelled.', {
        category: 'user',
        cause: error,
      });
    } finally {
      this.running.delete(requestId);
    }
  }
}

function remember({ session, seqId, digest }: NumberedSample): void {
  if (session === null || seqId === null) return;
  const { accepted } = session;
  accepted.set(seqId, digest);
  const [oldest] = accepted.keys();
  if (accepted.size > REMEMBERED && oldest !== undefined) accepted.delete(oldest);
}

function holdersOf(session: SamplingSession | null): { readonly client: string; readonly owner: string } {
  return { client: session?.sessionId ?? SESSIONLESS, owner: session?.id ?? SESSIONLESS };
}

function requestIdOf(session: SamplingSession | null, sequence: number | null): string {
  return `${session?.id ?? SESSIONLESS}:request:${session && sequence !== null ? sequence : randomUUID()}`;
}

function filling(asample: AsampleRequest, contextLength: number): AsampleRequest {
  const { request } = asample;
  const maxTokens = Math.max(1, contextLength - request.prompt.length);
  return { ...asample, request: { ...request, params: { ...request.params, maxTokens } } };
}
