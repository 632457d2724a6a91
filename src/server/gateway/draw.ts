import { anySignal } from '../../core/concurrency/any-signal';
import { untilAborted } from '../../core/concurrency/until-aborted';
import type { SampleResult, SampledSequence, SamplingParams } from '../../core/sampling';
import { contextOverflow } from '../../renderers/encode-prompt';
import type { GatewayModel } from './opened-models';
import { cutAtStop } from './stop-texts';
import type { CutTokens } from './stop-texts';

/** What both kinds of completion ask of a model, by OpenAI's names. */
interface SamplingFields {
  readonly n?: number | null | undefined;
  readonly temperature?: number | null | undefined;
  readonly top_p?: number | null | undefined;
  readonly top_k?: number | null | undefined;
  readonly seed?: number | null | undefined;
  readonly stop?: string | readonly string[] | null | undefined;
}

export interface DrawRequest {
  readonly prompt: readonly number[];
  readonly fields: SamplingFields;
  /** null for as many as the context takes. */
  readonly maxTokens: number | null;
  /** What ends a completion by itself; absent for the model's end of text. */
  readonly ownStops?: readonly string[] | readonly number[];
  /** How many of the likeliest tokens to name at each one drawn. */
  readonly topCount: number;
  /** Score the prompt too, naming as many of the likeliest tokens. */
  readonly scoresPrompt?: boolean;
}

/** One completion without the stop that ended it. */
export type DrawnChoice = CutTokens &
  Pick<SampledSequence, 'logprobs' | 'topLogprobs'> & {
    readonly finish: 'stop' | 'length';
    /** As many as were drawn, the stop among them: that is what was paid for. */
    readonly drawnCount: number;
  };

export interface Drawn {
  readonly choices: readonly DrawnChoice[];
  readonly result: SampleResult;
}

/** Where the service does not say how much it reads and writes together. */
const USUAL_MAX_TOKENS = 4096;

/** Samples one prompt. The service is asked to stop at the stop texts where it can; here they are cut off in any case. */
export async function draw(model: GatewayModel, request: DrawRequest, signal: AbortSignal): Promise<Drawn> {
  const { prompt, fields, topCount, scoresPrompt = false } = request;
  const stops = stopTexts(fields);
  const either = anySignal([signal, model.unpaid]);
  either.throwIfAborted();
  const sampling = model.sampler.sample(
    {
      prompt,
      numSamples: fields.n ?? 1,
      params: paramsOf(model, request, stops),
      ...(scoresPrompt && { promptLogprobs: true }),
      ...(scoresPrompt && topCount > 0 && { topPromptLogprobs: topCount }),
      ...(topCount > 0 && { topSampledLogprobs: topCount }),
    },
    { signal: either },
  );
  const result = await untilAborted(sampling, either);
  const choices = result.sequences.map((sequence): DrawnChoice => {
    const cut = cutAtStop(sequence, { stops, tokenizer: model.tokenizer });
    const { logprobs, topLogprobs, tokens, stopReason } = sequence;
    const finish = cut.isCut ? 'stop' : stopReason;
    return { ...cut, logprobs, ...(topLogprobs && { topLogprobs }), finish, drawnCount: tokens.length };
  });
  return { choices, result };
}

function stopTexts({ stop }: SamplingFields): readonly string[] {
  return typeof stop === 'string' ? [stop] : (stop ?? []);
}

function paramsOf(
  model: GatewayModel,
  { prompt, fields, maxTokens, ownStops }: DrawRequest,
  stops: readonly string[],
): SamplingParams {
  const room = roomAfter(prompt, model.contextLength);
  const stop = stopsOf(model, ownStops, stops);
  return {
    maxTokens: Math.min(maxTokens ?? (Number.isFinite(room) ? room : USUAL_MAX_TOKENS), room),
    temperature: fields.temperature ?? 1,
    topP: fields.top_p ?? 1,
    topK: fields.top_k == null || fields.top_k === 0 ? -1 : fields.top_k,
    ...(fields.seed != null && { seed: fields.seed }),
    ...(stop && { stop }),
  };
}

function roomAfter(prompt: readonly number[], contextLength: number | null): number {
  const room = (contextLength ?? Infinity) - prompt.length;
  if (room > 0) return room;
  throw contextOverflow(String(prompt.length), contextLength);
}

/**
 * Stop tokens and stop texts cannot be asked for together. A service that looks for texts among special tokens too takes the
 * model's own stops as texts; elsewhere the model's own stops go first, and the others are cut off when the completion is there.
 */
function stopsOf(
  { tokenizer, stopsAtSpecialTexts, endTexts }: GatewayModel,
  own: DrawRequest['ownStops'],
  stops: readonly string[],
): SamplingParams['stop'] {
  if (stops.length === 0) return own;
  const ownTexts = (own ?? (stopsAtSpecialTexts ? endTexts() : [])).map((stop) =>
    typeof stop === 'string' ? stop : tokenizer.decode([stop]),
  );
  const isText = own === undefined || own.every((stop) => typeof stop === 'string');
  return isText || stopsAtSpecialTexts ? [...ownTexts, ...stops] : own;
}
