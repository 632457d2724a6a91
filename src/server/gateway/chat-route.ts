import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import type { Routes } from '../http/route';
import { RequestError } from '../http/request-error';
import { textOf } from '../../renderers/message-text';
import type { ChatChoice } from './chat-answer';
import { readChoice } from './chat-answer';
import { readMessages, readTools } from './chat-messages';
import type { ChatAnswer, ChatChunk, Usage } from './chat-schemas';
import { ChatAnswer as ChatAnswerSchema, ChatBody } from './chat-schemas';
import { draw } from './draw';
import { contextOverflow, encodePrompt } from '../../renderers/encode-prompt';
import type { Gateway } from './gateway';
import { refuseHalfCharacters } from './half-characters';
import type { GatewayModel } from './opened-models';
import { streamAnswer } from './stream-answer';

export function addChatRoute(routes: Routes, gateway: Pick<Gateway, 'answer' | 'logger'>): void {
  routes.add(
    {
      method: 'POST',
      path: '/v1/chat/completions',
      id: 'createChatCompletion',
      summary: "Continue a conversation with a run's checkpoint or any weights of the training service",
      tag: 'gateway',
      body: ChatBody,
      answers: {
        200: {
          description:
            'The completion; with `stream` a `text/event-stream` of chunks that ends with `[DONE]`',
          schema: ChatAnswerSchema,
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

interface Asker {
  readonly signal: AbortSignal;
  readonly reply: FastifyReply;
  readonly logger: Logger;
}

async function answer(
  model: GatewayModel,
  body: ChatBody,
  { signal, reply, logger }: Asker,
): Promise<unknown> {
  refuseTooMany(model, body);
  const prompt = await encodePrompt(model, () => promptOf(model, body), signal);
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: model.label };
  const complete = async () => {
    const drawn = await draw(model, drawRequest(model, body, prompt), signal);
    const options = {
      renderer: model.renderer(),
      tokenizer: model.tokenizer,
      wantsLogprobs: body.logprobs === true,
      tools: readTools(body),
      isOneCall: body.parallel_tool_calls === false,
    };
    const choices = drawn.choices.map((choice, index) => readChoice(choice, { ...options, index }));
    const completionTokens = drawn.choices.reduce((sum, { drawnCount }) => sum + drawnCount, 0);
    return { choices, usage: usageOf(prompt.length, completionTokens) };
  };
  if (body.stream !== true) {
    return { ...head, object: 'chat.completion', ...(await complete()) } satisfies ChatAnswer;
  }
  return streamAnswer({ reply, logger }, async (send) => {
    const chunk = (choices: ChatChunk['choices']): ChatChunk => ({
      ...head,
      object: 'chat.completion.chunk',
      choices,
      ...(body.stream_options?.include_usage && { usage: null }),
    });
    const count = body.n ?? 1;
    for (let index = 0; index < count; index++) {
      await send(chunk([piece(index, { role: 'assistant', content: '' })]));
    }
    const { choices, usage } = await complete();
    for (const choice of choices) {
      for (const part of piecesOf(choice)) await send(chunk([part]));
    }
    if (body.stream_options?.include_usage) await send({ ...chunk([]), usage });
  });
}

function refuseContradictions(body: ChatBody): void {
  refuseHalfCharacters(body);
  if (body.top_logprobs && body.logprobs !== true) {
    throw new RequestError(400, { message: 'top_logprobs needs logprobs: true.', param: 'top_logprobs' });
  }
  if ((body.max_completion_tokens ?? body.max_tokens) === 0) {
    throw new RequestError(400, { message: 'max_tokens has to be 1 or more.', param: 'max_tokens' });
  }
}

/** Declared tools carry the system prompt: there is one of them. */
/** Each message and each call has a token at least: who sends more than the context takes waits for no look at what they say. */
function refuseTooMany({ contextLength }: GatewayModel, { messages }: ChatBody): void {
  const calls = messages.map((message) => ('tool_calls' in message ? (message.tool_calls?.length ?? 0) : 0));
  const count = calls.reduce((sum, each) => sum + each, messages.length);
  if (contextLength !== null && count > contextLength)
    throw contextOverflow(`at least ${count}`, contextLength);
}

function promptOf(model: GatewayModel, body: ChatBody): number[] {
  const renderer = model.renderer();
  const messages = readMessages(body.messages);
  const tools = readTools(body);
  if (tools.length === 0) return renderer.buildGenerationPrompt(messages);
  const [first] = messages;
  const system = first?.role === 'system' ? textOf(first) : null;
  const declared = renderer.declareTools(tools, system ?? '');
  return renderer.buildGenerationPrompt([...declared, ...messages.slice(system === null ? 0 : 1)]);
}

function drawRequest(model: GatewayModel, body: ChatBody, prompt: readonly number[]) {
  return {
    prompt,
    fields: body,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    ownStops: model.renderer().stopSequences(),
    topCount: body.top_logprobs ?? 0,
  };
}

export function usageOf(promptTokens: number, completionTokens: number): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

type Delta = ChatChunk['choices'][number]['delta'];

function piece(index: number, delta: Delta): ChatChunk['choices'][number] {
  return { index, delta, logprobs: null, finish_reason: null };
}

/** The protocol gives a completion when it is whole, so each part of the message is one piece. */
function piecesOf({ index, message, logprobs, finish_reason }: ChatChoice): ChatChunk['choices'] {
  const { content, reasoning_content: thinking, tool_calls: calls } = message;
  return [
    ...(thinking === undefined ? [] : [piece(index, { reasoning_content: thinking })]),
    ...(content || logprobs ? [{ ...piece(index, { content: content ?? '' }), logprobs }] : []),
    ...(calls ?? []).map((call, position) => piece(index, { tool_calls: [{ index: position, ...call }] })),
    { index, delta: {}, logprobs: null, finish_reason },
  ];
}
