import type { EngineSource, ModelSource } from '../core/benchmark-run';
import type { Completer, Completion, CompletionOptions, CompletionRequest } from '../core/completion';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { WaitingReasons } from '../core/concurrency/waiting-reasons';
import { notAsked } from '../core/concurrency/not-asked';
import { smallestOf } from '../core/extremes';
import { untilAborted } from '../core/concurrency/until-aborted';
import type { Sampler } from '../core/sampling';
import type { Tokenizer } from '../core/tokenizer';
import type { OnWait } from '../engines/tinker/waiting';
import { openEndpoint } from '../engines/openai/open-endpoint';
import { ContextCap } from '../evaluation/completers/context-cap';
import { TokenCompleter } from '../evaluation/completers/token-completer';
import type { ModelAccess, OpenedModel, OpenModelOptions } from '../evaluation/runner/open-model';
import { samplerInTurns } from '../evaluation/turns';
import { findRenderer } from '../renderers/find-renderer';
import type { EngineAccess } from './engine-access';
import { engineFormat, rendererFor } from './model-checks';

export interface ModelAccessDependencies {
  readonly engines: EngineAccess;
  readonly tokenizerOf: (model: string) => Promise<Tokenizer>;
  /** The key that an endpoint gets; default none. */
  readonly keyFor?: (url: string) => string | undefined;
  /** Where processes that ask the same endpoint see each other. */
  readonly sharedFolder?: string;
  /** Fires when this process is about to end: nothing more is asked for, and what is under way may end. */
  readonly stopping?: AbortSignal;
}

const NEVER = new Promise<never>(() => undefined);

/** A model in use, closed with its last user. */
interface SharedModel {
  readonly opening: Promise<OpenedModel>;
  userCount: number;
}

/** Opens models for evaluation. What asks the same weights in the same way shares one connection. */
export function createModelAccess(dependencies: ModelAccessDependencies): ModelAccess {
  const shared = new Map<string, SharedModel>();

  function share(key: string, open: () => Promise<OpenedModel>): SharedModel {
    const present = shared.get(key) ?? { opening: open(), userCount: 0 };
    present.userCount += 1;
    shared.set(key, present);
    return present;
  }

  async function leave(key: string, model: SharedModel): Promise<void> {
    model.userCount -= 1;
    if (model.userCount > 0) return;
    shared.delete(key);
    const opened = await model.opening.catch(() => null);
    await opened?.completer.close();
  }

  return {
    async promptTextOf(source) {
      if (source.type === 'endpoint') return null;
      const tokenizer = await dependencies.tokenizerOf(source.model);
      const renderer = findRenderer(rendererFor(source), tokenizer, source.templateArguments);
      return (messages) => tokenizer.decode(renderer.buildGenerationPrompt(messages));
    },
    promptFormat: (source) => (source.type === 'endpoint' ? source.api : engineFormat(source)),
    async open(source, options) {
      const key = JSON.stringify([source, options.concurrency, options.contextWindow, options.timeoutMs]);
      const model = share(key, () => openAnew(dependencies, source, options));
      try {
        const { completer, ...others } = await model.opening;
        const waits = options.onWaiting && new WaitingReasons(options.onWaiting);
        let isOpen = true;
        return {
          ...others,
          completer: {
            complete: (request, completionOptions) =>
              completeTelling(completer, request, { ...completionOptions, onWaiting: waits?.part() }),
            async close() {
              if (!isOpen) return;
              isOpen = false;
              await leave(key, model);
            },
          },
        };
      } catch (error) {
        await leave(key, model);
        throw error;
      }
    },
  };
}

/** A connection is shared; what it waits for is told to whoever waits. */
async function completeTelling(
  completer: Completer,
  request: CompletionRequest,
  {
    onWaiting,
    ...options
  }: Omit<CompletionOptions, 'onWaiting'> & { readonly onWaiting: TellWaiting | undefined },
): Promise<Completion> {
  try {
    return await completer.complete(request, { ...options, ...(onWaiting && { onWaiting }) });
  } finally {
    onWaiting?.(null);
  }
}

function openAnew(
  dependencies: ModelAccessDependencies,
  source: ModelSource,
  options: OpenModelOptions,
): Promise<OpenedModel> {
  return source.type === 'endpoint'
    ? Promise.resolve(openEndpointModel(dependencies, source, options))
    : openEngineModel(dependencies, source, options);
}

function openEndpointModel(
  { keyFor, sharedFolder, stopping }: ModelAccessDependencies,
  { url, model, api }: Extract<ModelSource, { type: 'endpoint' }>,
  { concurrency, contextWindow, timeoutMs }: OpenModelOptions,
): OpenedModel {
  const completer = openEndpoint({
    url,
    apiKey: keyFor?.(url),
    model,
    api,
    concurrency,
    sharedFolder,
    timeoutMs,
    stopping,
  });
  return { completer: contextWindow === null ? completer : new ContextCap(completer, contextWindow) };
}

async function openEngineModel(
  { engines, tokenizerOf, stopping }: ModelAccessDependencies,
  source: EngineSource,
  { contextWindow, signal, onWaiting }: OpenModelOptions,
): Promise<OpenedModel> {
  const { model, path, url, profile } = source;
  const tokenizer = await tokenizerOf(model);
  const renderer = findRenderer(rendererFor(source), tokenizer, source.templateArguments);
  const config = { tags: [], ...(url !== undefined && { url }), ...(profile && { profile }) };
  const onWait = onWaiting && tellWaiting(engines.urlOf(config), onWaiting);
  const engine = await engines.connect(config, {
    ...{ baseModel: model, ...(signal && { signal }) },
    ...(onWait && { onWait, onProbeWait: onWait }),
  });
  const sampler = engine.client.createSampler(path === null ? { baseModel: model } : { modelPath: path });
  const limits = [engine.profile.maxSequenceLength, contextWindow].filter((limit) => limit !== null);
  const site = {
    ...{ sampler: untilStopping(samplerInTurns(sampler), stopping), renderer, tokenizer },
    contextLength: limits.length === 0 ? null : smallestOf(limits),
  };
  const completer = new TokenCompleter({
    ...site,
    async close() {
      await sampler.close();
      await engine.client.close();
    },
  });
  return { completer, site };
}

/** What is not asked for when the process is about to end waits to be called off. */
function untilStopping(sampler: Sampler, stopping: AbortSignal | undefined): Sampler {
  return {
    sample: async (request, options) => {
      if (stopping?.aborted === true)
        await untilAborted(NEVER, options?.signal ?? stopping).catch((cause: unknown) => {
          throw notAsked(cause);
        });
      return sampler.sample(request, options);
    },
  };
}

/** Since when counts from the first of several waits that follow each other. */
function tellWaiting(url: string, tell: (reason: string | null) => void): OnWait {
  let since: string | null = null;
  return (waiting) => {
    // An answer that takes its time is nothing to wait for.
    if (waiting === null || waiting.queueState === 'active') {
      since = null;
      tell(null);
      return;
    }
    since ??= new Date().toISOString();
    const state = waiting.queueState === undefined ? '' : ` (${waiting.queueState})`;
    tell(`the training service ${url}: ${waiting.what}${state}, since ${since}`);
  };
}
