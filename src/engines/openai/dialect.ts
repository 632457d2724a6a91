import type { Completion, CompletionRequest, CompletionStop } from '../../core/completion';
import type { JsonObject } from './answer-fields';

export type MaxTokensField = 'max_tokens' | 'max_completion_tokens';

/** What of a completion stands in its choice, apart from usage and time. */
export type ChoiceCompletion = Pick<Completion, 'message' | 'rawText' | 'isMalformed' | 'isRefusal'>;

/** One of the two ways to ask such an endpoint. */
export interface Dialect {
  /** Appended to the base URL. */
  readonly path: string;
  body(request: CompletionRequest, model: string): JsonObject;
  /** What of a choice is no completion at all, or null. Only what has no fault is read. */
  faultOf(choice: JsonObject): string | null;
  read(choice: JsonObject, withoutKey: (text: string) => string): ChoiceCompletion;
}

/** undefined is left out when the body is written. */
export function samplingFields({ params }: CompletionRequest, stop: readonly string[] = []): JsonObject {
  const stops = [...new Set([...(params.stop ?? []), ...stop])];
  return {
    temperature: params.temperature,
    // Always said: servers take other defaults from a model's own settings.
    top_p: params.topP,
    seed: params.seed,
    stop: stops.length > 0 ? stops : undefined,
  };
}

const STOPS: Readonly<Record<string, CompletionStop>> = {
  length: 'length',
  max_tokens: 'length',
  max_completion_tokens: 'length',
  model_length: 'length',
  content_filter: 'content_filter',
  safety: 'content_filter',
};

/** Every other reason ends a reply as the model meant it. */
export function stopReasonOf(finishReason: string | null): CompletionStop {
  const reason = finishReason?.toLowerCase() ?? '';
  return Object.hasOwn(STOPS, reason) ? (STOPS[reason] ?? 'stop') : 'stop';
}
