import { randomUUID } from 'node:crypto';
import { DomainError } from '../../../core/errors';
import type { SampleResult } from '../../../core/sampling';
import { countScoreCells } from '../../../core/sampling-scores';
import type { AsampleRequest } from '../../tinker/codec';
import { requireBaseModel } from './base-models';
import type { CreateSamplingSessionBody } from './bodies';
import { digestOf } from './body-digest';
import { DrawTurns } from './draw-turns';
import { PendingScores } from './pending-scores';
import type { BusyKind } from './engine-counters';
import type { ScoredLast } from './prompt-scores';
import { checkScoredLast, keepScores } from './prompt-scores';
import { checkPrompt, checkScores } from './sample-checks';
import { sampleFuture } from './sample-future';
import type { SamplerSource } from './sampler-cache';
import { SamplerCache } from './sampler-cache';
import type { SamplingSession } from './sampling-sessions';
import { SamplingSessions } from './sampling-sessions';
import type { ServiceContext } from './service-context';

/** Owner of the results of samples drawn outside any sampling session. */
const SESSIONLESS = 'sample';

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
  /** Whether training may name the sequences by their ids. */
  readonly isRecorded: boolean;
}

interface RecordedSample {
  readonly session: SamplingSession;
  readonly accepted: AcceptedSample;
  readonly prompt: readonly number[];
}

export interface AcceptedSample {
  readonly request_id: string;
  readonly sample_sequence_ids: readonly string[];
}

/** Draws samples, for sampling sessions and outside of any. */
export class SamplingService {
  readonly samplers: SamplerCache;
  readonly sessions: SamplingSessions;
  private readonly running = new Map<string, AbortController>();
  private readonly draws = new Set<Promise<unknown>>();
  private readonly turns = new DrawTurns();
  private readonly pendingScores = new PendingScores();

  constructor(
    private readonly context: ServiceContext,
    dataFolder: string,
  ) {
    this.samplers = new SamplerCache(context.runtime);
    this.sessions = new SamplingSessions(context, dataFolder);
  }

  /** Resolves with the weights in memory: what reads them would else wait behind each of the first requests of many. */
  async open(body: CreateSamplingSessionBody): Promise<string> {
    const id = this.sessions.open(body);
    const loading = this.samplers.use(this.sessions.require(id).source, () => Promise.resolve());
    this.track(loading);
    // What stands in their way is told to whoever samples.
    await loading.catch(() => null);
    return id;
  }

  sample(asked: AsampleRequest, options: SampleOptions): AcceptedSample {
    const { isUnlimited, scoredLast, isRecorded } = options;
    const session = asked.samplingSessionId === null ? null : this.sessions.require(asked.samplingSessionId);
    const source = session?.source ?? this.sessions.sourceOf(asked.modelPath, asked.baseModel);
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
    const digest = digestOf({ asample, scoredLast, isRecorded });
    const numbered = { session, requestId, seqId: asample.seqId, digest };
    if (this.sessions.isResend(numbered)) return accepted;
    const cells = countScoreCells(asample.request, base.contextLength);
    this.pendingScores.requireRoom(cells);
    const { client, owner } = holdersOf(session);
    this.turns.requireRoom(client);
    this.sessions.remember(numbered);
    const result = this.draw({ requestId, client, source }, asample);
    this.track(result);
    const answer = result.then((drawn) => {
      if (session && isRecorded) this.record(drawn, { session, accepted, prompt: asample.request.prompt });
      return sampleFuture(keepScores(drawn, scoredLast));
    });
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

  async endSession(sessionId: string): Promise<void> {
    const ended = this.sessions.end(sessionId);
    for (const requestId of this.running.keys()) {
      if (requestId.startsWith(`${sessionId}:sample:`)) this.cancel(requestId);
    }
    await this.sessions.removeWeights(ended);
  }

  /** Nothing is drawn any more when this resolves, and no weights are in memory. */
  async stop(): Promise<void> {
    for (const controller of this.running.values()) controller.abort();
    await Promise.all(this.draws);
    this.samplers.disposeAll();
  }

  private record({ sequences }: SampleResult, { session, accepted, prompt }: RecordedSample): void {
    const { sessionId } = session;
    for (const [index, { tokens }] of sequences.entries()) {
      this.context.sequences.add(accepted.sample_sequence_ids[index] ?? '', {
        sessionId,
        promptLength: prompt.length,
        tokens: Int32Array.from(tokens),
      });
    }
  }

  private track(result: Promise<unknown>): void {
    const settled = result
      .catch(() => null)
      .finally(() => {
        this.draws.delete(settled);
      });
    this.draws.add(settled);
  }

  private async draw({ requestId, client, source }: Draw, asample: AsampleRequest): Promise<SampleResult> {
    const controller = new AbortController();
    this.running.set(requestId, controller);
    try {
      const { signal } = controller;
      const sequenceCount = asample.request.numSamples;
      const result = await this.turns.take({ owner: client, sequenceCount, signal }, () =>
        this.samplers.use(source, (sampler) =>
          this.context.counters.whileBusy(kindOf(asample), () => sampler.sample(asample.request, { signal })),
        ),
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

function kindOf({ request }: AsampleRequest): BusyKind {
  const asksForPrompt =
    request.promptLogprobs === true ||
    (request.topPromptLogprobs ?? 0) > 0 ||
    (request.promptAlternatives ?? 0) > 0 ||
    request.promptTargets !== undefined;
  return asksForPrompt && request.params.maxTokens <= 1 ? 'scoring' : 'sampling';
}
