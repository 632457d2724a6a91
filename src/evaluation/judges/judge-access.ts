import type { EngineSource, ModelSource } from '../../core/benchmark-run';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { Completer } from '../../core/completion';
import type { Permits } from '../runner/permits';

interface JudgeLimits {
  readonly concurrency: number;
  readonly contextWindow: number | null;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Told what the judge keeps everybody waiting for; null when it no longer does. */
  readonly onWaiting?: TellWaiting;
}

/** How a worker reaches judges. */
export interface JudgeAccess {
  readonly models: {
    /** The caller closes the completer. */
    open(source: ModelSource, limits: JudgeLimits): Promise<{ readonly completer: Completer }>;
    /** How conversations become prompts: the renderer, or the API that is spoken. */
    promptFormat(source: ModelSource): string;
  };
  /** Places of this process at a judge: one set a judge, whoever asks. */
  readonly permitsOf: (subject: string, limit: number) => Permits;
  /** Judgements of all runs; null keeps none. */
  readonly cacheFolder: string | null;
  /** RUN@STEP, or RUN for its newest checkpoint. */
  readonly findCheckpoint: (checkpoint: string) => Promise<EngineSource>;
  /** Throws where a judge is not there, or would not answer; one that is only slow passes. */
  readonly check: (model: ModelSource, signal?: AbortSignal) => Promise<void>;
}
