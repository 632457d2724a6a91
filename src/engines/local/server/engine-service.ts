import path from 'node:path';
import type pino from 'pino';
import { BodyTurns } from '../../../core/concurrency/body-turns';
import type { ModelRuntime } from '../model-runtime';
import { AppliedSteps } from './applied-steps';
import { CheckpointService } from './checkpoint-service';
import { CheckpointStore } from './checkpoints/checkpoint-store';
import type { BootClock } from './checkpoints/kept-looks';
import { EngineCounters } from './engine-counters';
import { FutureStore } from './future-store';
import { MetadataBudget } from './metadata-budget';
import { ModelRegistry } from './model-registry';
import { SamplingService } from './sampling-service';
import { SequenceRecords } from './sequence-records';
import type { EngineProfile, ServiceContext } from './service-context';
import { SessionRegistry } from './session-registry';
import { TrainingService } from './training-service';

export interface EngineServiceOptions {
  readonly dataFolder: string;
  readonly runtime: ModelRuntime;
  readonly logger: pino.Logger;
  readonly sessionTimeoutMs: number;
  /** How long a question after an unfinished result is held open. */
  readonly longPollMs: number;
  /** Within which a request has to arrive whole. */
  readonly requestTimeoutMs: number;
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly elapsed: () => number;
  readonly boot: BootClock | null;
  readonly profile: EngineProfile;
}

/** How a client ends a session whose run is closed. */
const DONE_WITH: readonly string[] = ['success', 'errored'];

/** The service without its wire: sessions, models, samplers, checkpoints and promises. */
export class EngineService {
  readonly context: ServiceContext;
  readonly models: ModelRegistry;
  readonly training: TrainingService;
  readonly sampling: SamplingService;
  readonly saving: CheckpointService;
  readonly bodies = new BodyTurns();
  readonly longPollMs: number;
  readonly requestTimeoutMs: number;
  private readonly timers: NodeJS.Timeout[];

  private constructor(options: EngineServiceOptions, checkpoints: CheckpointStore) {
    const metadata = new MetadataBudget();
    const onEnd = (sessionId: string, reason: string): void => {
      this.endSession(sessionId, reason);
    };
    const sessions = new SessionRegistry(options.sessionTimeoutMs, onEnd, metadata);
    this.context = {
      runtime: options.runtime,
      logger: options.logger,
      profile: options.profile,
      futures: new FutureStore(),
      counters: new EngineCounters(),
      sequences: new SequenceRecords(options.now),
      appliedSteps: AppliedSteps.open(options.dataFolder, options),
      checkpoints,
      sessions,
      metadata,
      now: options.now,
      elapsed: options.elapsed,
    };
    this.longPollMs = options.longPollMs;
    this.requestTimeoutMs = options.requestTimeoutMs;
    this.models = new ModelRegistry(this.context);
    this.training = new TrainingService(this.context, this.models);
    this.sampling = new SamplingService(this.context, options.dataFolder);
    this.saving = new CheckpointService(this.context, this.training, this.sampling);
    this.timers = [
      setInterval(
        () => {
          sessions.expire(options.elapsed());
        },
        Math.min(options.sessionTimeoutMs / 4, 5000),
      ),
      setInterval(() => {
        void this.tidy();
      }, 10_000),
    ];
    for (const timer of this.timers) timer.unref();
  }

  static async start(options: EngineServiceOptions): Promise<EngineService> {
    const folder = path.join(options.dataFolder, 'checkpoints');
    const baseModels = options.runtime.baseModels.map(({ name }) => name);
    const checkpoints = await CheckpointStore.open(folder, options, baseModels);
    const service = new EngineService(options, checkpoints);
    await service.sampling.sessions.start();
    return service;
  }

  /** Lets saves in progress reach the disk. Models and results end here. */
  async stop(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    await this.sampling.stop();
    await Promise.all(this.models.list().map((model) => model.unload('the engine is stopping')));
    await this.saving.allSettled();
    this.context.appliedSteps.close();
  }

  /** Ends a session as its client says. Whoever was interrupted means to go on from what was saved; others are done with it. */
  async finishSession(sessionId: string, reason: string): Promise<void> {
    const models = this.models.list().filter(({ origin }) => origin.sessionId === sessionId);
    this.context.sessions.finish(sessionId, reason);
    if (!DONE_WITH.includes(reason)) return;
    for (const { id } of models) await this.context.checkpoints.close(id);
  }

  private async tidy(): Promise<void> {
    const now = performance.now();
    this.context.futures.dropExpired(now);
    this.context.sequences.dropExpired();
    this.sampling.samplers.disposeIdle(now);
    try {
      await this.context.checkpoints.removeExpired();
    } catch (error) {
      this.context.logger.warn({ err: error }, 'could not remove expired checkpoints');
    }
  }

  private endSession(sessionId: string, reason: string): void {
    this.context.logger.info({ sessionId, reason }, 'session ended');
    this.models.endSession(sessionId, reason);
    this.context.sequences.endSession(sessionId);
    this.sampling.endSession(sessionId).catch((error: unknown) => {
      this.context.logger.warn({ err: error, sessionId }, 'could not remove the weights of a session');
    });
  }
}
