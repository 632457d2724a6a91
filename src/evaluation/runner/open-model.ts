import type { ModelSource } from '../../core/benchmark-run';
import type { Completer } from '../../core/completion';
import type { Message } from '../../core/conversation';
import type { KindDependencies } from '../kinds/evaluate-kind';

/** A model that is ready to be asked. */
export interface OpenedModel {
  readonly completer: Completer;
  /** For tasks that read tokens and likelihoods; absent where a model speaks text alone. */
  readonly site?: KindDependencies;
}

export interface OpenModelOptions {
  readonly concurrency: number;
  /** Tokens the model is to read and write together at most; null leaves it to the service. */
  readonly contextWindow: number | null;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** What a training service keeps the model waiting for, and since when; null when it no longer does. */
  readonly onWaiting?: (reason: string | null) => void;
}

/** How a worker reaches models. */
export interface ModelAccess {
  /** The caller closes the completer. */
  open(source: ModelSource, options: OpenModelOptions): Promise<OpenedModel>;
  /** How conversations become prompts: the renderer, or the API that is spoken. Refuses what does not fit the model. */
  promptFormat(source: ModelSource): string;
  /** How conversations read as prompts of the model; null where they are made elsewhere. Asks no service. */
  promptTextOf(source: ModelSource): Promise<((messages: readonly Message[]) => string) | null>;
}
