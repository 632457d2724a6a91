import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { anySignal } from '../../core/concurrency/any-signal';
import { mapWithLimit } from '../../core/concurrency/map-with-limit';
import type { Routes } from '../http/route';
import { RequestError } from '../http/request-error';
import { usageOf } from './chat-route';
import { readTextChoice } from './completion-answer';
import { CompletionAnswer as CompletionAnswerSchema, CompletionBody } from './completion-schemas';
import type { CompletionAnswer, CompletionChoice } from './completion-schemas';
import type { DrawRequest } from './draw';
import { draw } from './draw';
import { encodePrompt } from '../../renderers/encode-prompt';
import type { Gateway } from './gateway';
import { refuseHalfCharacters } from './half-characters';
import type { GatewayModel } from './opened-models';
import { streamAnswer } from './stream-answer';

/** OpenAI's, which is as few as lm-eval and its like expect. */
const USUAL_MAX_TOKENS = 16;
const CONCURRENT_PROMPTS = 64;

export function addCompletionRoute(routes: Routes, gateway: Pick<Gateway, 'answer' | 'logger'>): void {
  routes.add(
    {
      method: 'POST',
      path: '/v1/completions',
      id: 'createCompletion',
      summary: 'Continue texts or tokens as they stand, without a renderer',
      tag: 'gateway',
      body: CompletionBody,
      answers: {
        200: {
          description: 'The completions; with `stream` a `text/event-stream` of them that ends with `[DONE]`',
          schema: CompletionAnswerSchema,
        },
      },
    },
    async ({ body, signal, reply }) => {
      refuseContradictions(body);
      return gateway.answer(body.model, signal, (model) =>
        answer(model, body, { signal, reply, logger: gateway.logger }),
      );
    },
  );
}

function refuseContradictions(body: CompletionBody): void {
  refuseHalfCharacters(body);
  const { best_of: bestOf, n, echo, max_tokens: maxTokens } = body;
  if (bestOf != null && bestOf !== (n ?? 1)) {
    throw new RequestError(400, {
      message: 'best_of has to be n: all that is drawn is given.',
      param: 'best_of',
    });
  }
  if (maxTokens === 0 && echo !== true) {
    throw new RequestError(400, { message: 'max_tokens of 0 needs echo.', param: 'max_tokens' });
  }
}

interface Asker {
  readonly signal: AbortSignal;
  readonly reply: FastifyReply;
  readonly logger: Logger;
}

async function answer(
  model: GatewayModel,
  body: CompletionBody,
  { signal, reply, logger }: Asker,
): Promise<unknown> {
  const prompts = await encodePrompt(model, () => promptsOf(model, body), signal);
  const head = {
    id: `cmpl-${randomUUID()}`,
    object: 'text_completion' as const,
    created: Math.floor(Date.now() / 1000),
    model: model.label,
  };
  const complete = () => completeAll(model, body, { prompts, signal });
  if (body.stream !== true) return { ...head, ...(await complete()) } satisfies CompletionAnswer;
  return streamAnswer({ reply, logger }, async (send) => {
    const withUsage = body.stream_options?.include_usage === true;
    const { choices, usage } = await complete();
    for (const choice of choices) {
      await send({
        ...head,
        choices: [choice],
        ...(withUsage && { usage: null }),
      } satisfies CompletionAnswer);
    }
    if (withUsage) await send({ ...head, choices: [], usage } satisfies CompletionAnswer);
  });
}

interface Work {
  readonly prompts: readonly (readonly number[])[];
  readonly signal: AbortSignal;
}

async function completeAll(
  model: GatewayModel,
  body: CompletionBody,
  { prompts, signal }: Work,
): Promise<Required<Pick<CompletionAnswer, 'choices' | 'usage'>>> {
  const perPrompt = body.n ?? 1;
  // One that fails has nobody left to read the others.
  const failed = new AbortController();
  const either = anySignal([signal, failed.signal]);
  const answers = await mapWithLimit(prompts, CONCURRENT_PROMPTS, async (prompt, index) => {
    try {
      const drawn = await draw(model, drawRequest(body, prompt), either);
      const choices = drawn.choices.map((choice, position): CompletionChoice =>
        readTextChoice(choice, {
          ...{ body, prompt, result: drawn.result, tokenizer: model.tokenizer },
          index: index * perPrompt + position,
        }),
      );
      return { choices, count: drawn.choices.reduce((sum, { drawnCount }) => sum + drawnCount, 0) };
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  const promptTokens = prompts.reduce((sum, { length }) => sum + length, 0);
  const drawnTokens = body.max_tokens === 0 ? 0 : answers.reduce((sum, { count }) => sum + count, 0);
  return { choices: answers.flatMap(({ choices }) => choices), usage: usageOf(promptTokens, drawnTokens) };
}

function drawRequest(body: CompletionBody, prompt: readonly number[]): DrawRequest {
  return {
    prompt,
    fields: body,
    // A service draws at least one; where none is wanted it is thrown away.
    maxTokens: Math.max(1, body.max_tokens ?? USUAL_MAX_TOKENS),
    topCount: body.logprobs ?? 0,
    scoresPrompt: body.echo === true && body.logprobs != null,
  };
}

/** Texts as they stand: special tokens that are spelled out count as such, and none is added. */
function promptsOf({ tokenizer, contextLength }: GatewayModel, { prompt }: CompletionBody): number[][] {
  const prompts: readonly (string | number[])[] = isTokens(prompt) ? [prompt] : [prompt].flat();
  return prompts.map((each) => {
    const tokens = typeof each === 'string' ? tokenizer.encode(each, { allowSpecial: true }) : each;
    if (tokens.length === 0)
      throw new RequestError(400, { message: 'The prompt is empty.', param: 'prompt' });
    const unknown = tokens.find((token) => token >= tokenizer.vocabSize);
    if (unknown === undefined) return tokens;
    throw new RequestError(400, {
      message: `Token ${unknown} is not in the vocabulary (0 to ${tokenizer.vocabSize - 1}); the context has ${contextLength ?? 'any number of'} tokens.`,
      param: 'prompt',
    });
  });
}

function isTokens(prompt: CompletionBody['prompt']): prompt is number[] {
  return Array.isArray(prompt) && typeof prompt[0] === 'number';
}
