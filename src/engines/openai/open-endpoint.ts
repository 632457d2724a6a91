import type { Completer, Completion, CompletionOptions, CompletionRequest } from '../../core/completion';
import { DomainError } from '../../core/errors';
import type { JsonObject } from './answer-fields';
import { isObject, listAt, objectAt, textAt, tokenCountAt } from './answer-fields';
import { Cancellation, Followers } from './cancellation';
import { chatDialect } from './chat-dialect';
import type { RenderPrompt } from './completions-dialect';
import { completionsDialect } from './completions-dialect';
import type { Dialect, MaxTokensField } from './dialect';
import { stopReasonOf } from './dialect';
import { parseEndpointUrl } from './endpoint-address';
import type { EndpointLane } from './endpoint-lane';
import { openLane } from './endpoint-lane';
import type { Destination } from './refusals';
import { isContentFilter, refusalError, refusesMaxTokens, serverError, withoutKey } from './refusals';
import { endpointHeaders } from './request-headers';
import type { HttpRequest } from './http-exchange';
import type { EndpointReply } from './send-request';
import { sendRequest } from './send-request';

export interface EndpointOptions {
  /** What paths are appended to, e.g. `https://host/v1`. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  readonly model: string;
  readonly api: 'chat' | 'completions';
  /** Requests in flight at most, of all who use this model at this endpoint; the largest that any of them asks for counts. */
  readonly concurrency: number;
  /** Where the processes that share the endpoint see each other's files; without it a process minds itself only. */
  readonly sharedFolder?: string | undefined;
  /** From sending a request to its whole answer. Default five minutes. */
  readonly timeoutMs?: number | undefined;
  /** Fires when this process is about to end: nothing more is sent, and what is under way may end. */
  readonly stopping?: AbortSignal | undefined;
  /** How long outages are borne before `unreachable`. Default half a minute. */
  readonly patienceMs?: number | undefined;
  /** Writes the prompt of the completions API; default the `role_colon` style. */
  readonly renderPrompt?: RenderPrompt | undefined;
  /** Default `max_tokens`, and `max_completion_tokens` once the server has asked for it. */
  readonly maxTokensField?: MaxTokensField | undefined;
}

/** One user of a lane, with what is under way for it. */
interface Client {
  readonly lane: EndpointLane;
  readonly dialect: Dialect;
  readonly options: EndpointOptions;
  readonly to: Destination;
  readonly headers: Record<string, string>;
}

interface Asked {
  readonly request: CompletionRequest;
  readonly timeoutMs: number;
  readonly cancellation: Cancellation;
  readonly onWaiting: CompletionOptions['onWaiting'];
}

const TIMEOUT_MS = 300_000;
const PATIENCE_MS = 30_000;
const HEALTH_CHECK: CompletionRequest = {
  messages: [{ role: 'user', content: 'Say OK.' }],
  params: { maxTokens: 1, temperature: 0, topP: 1, seed: 0 },
};
const HEALTH_CHECK_MS = 15_000;

/** A model at an OpenAI-compatible endpoint. Nothing is sent before the first completion is asked for. */
export function openEndpoint(options: EndpointOptions): Completer {
  const address = parseEndpointUrl(options.url);
  const { model, concurrency, sharedFolder } = options;
  checkConcurrency(concurrency);
  const { lane, ...membership } = openLane({
    address,
    model,
    concurrency,
    sharedFolder,
    maxTokensField: options.maxTokensField ?? 'max_tokens',
  });
  const dialect =
    options.api === 'chat'
      ? chatDialect(() => lane.maxTokensField)
      : completionsDialect(options.renderPrompt);
  const to = { address, path: dialect.path, model, apiKey: options.apiKey };
  const client: Client = { lane, dialect, options, to, headers: endpointHeaders(options.apiKey) };
  const underWay = new Set<Cancellation>();
  const followers = new Followers();
  let isClosed = false;

  return {
    async complete(
      request,
      { signal, timeoutMs = options.timeoutMs ?? TIMEOUT_MS, onWaiting }: CompletionOptions = {},
    ) {
      if (isClosed) throw closed(client);
      const cancellation = new Cancellation();
      underWay.add(cancellation);
      if (signal) followers.add(signal, cancellation);
      try {
        return await complete(client, { request, timeoutMs, cancellation, onWaiting });
      } finally {
        if (signal) followers.remove(signal, cancellation);
        underWay.delete(cancellation);
      }
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      for (const cancellation of underWay) cancellation.cancel(closed(client));
      await membership.leave();
    },
  };
}

async function complete(client: Client, asked: Asked): Promise<Completion> {
  const { lane, dialect, options } = client;
  for (let mayAskAnew = true; ; mayAskAnew = false) {
    asked.cancellation.throwIfCancelled();
    const body = dialect.body(asked.request, options.model);
    const reply = await send(client, asked, body);
    if ('answer' in reply) return completionIn(client, reply);
    const { refusal, seconds } = reply;
    if (mayAskAnew && 'max_tokens' in body && options.api === 'chat' && refusesMaxTokens(refusal)) {
      lane.maxTokensField = 'max_completion_tokens';
      continue;
    }
    if (isContentFilter(refusal)) return filtered(seconds);
    throw refusalError(refusal, client.to);
  }
}

function send(client: Client, asked: Asked, body: JsonObject): Promise<EndpointReply> {
  const { lane, to, options, dialect } = client;
  return sendRequest(lane, {
    to,
    patienceMs: options.patienceMs ?? PATIENCE_MS,
    cancellation: asked.cancellation,
    stopping: options.stopping,
    onWaiting: asked.onWaiting,
    request: requestOf(client, body, asked.timeoutMs),
    healthCheck: () =>
      requestOf(
        client,
        dialect.body(HEALTH_CHECK, options.model),
        Math.min(asked.timeoutMs, HEALTH_CHECK_MS),
      ),
  });
}

function requestOf({ to, headers }: Client, body: JsonObject, timeoutMs: number): HttpRequest {
  return {
    method: 'POST',
    path: `${to.address.prefix}${to.path}${to.address.search}`,
    headers,
    body: JSON.stringify(body),
    timeoutMs,
  };
}

function completionIn(
  { dialect, to }: Client,
  { answer, seconds }: Extract<EndpointReply, { answer: JsonObject }>,
): Completion {
  const [choice] = listAt(answer, 'choices');
  if (!isObject(choice)) throw serverError('answers without a choice.', to);
  const fault = dialect.faultOf(choice) ?? finishFaultOf(choice);
  if (fault !== null) throw serverError(`answers with a malformed choice: ${fault}.`, to);
  const finishReason = textAt(choice, 'finish_reason');
  if (finishReason === 'abort' || finishReason === 'error') {
    throw serverError(`broke off the completion (finish_reason "${finishReason}").`, to);
  }
  const usage = objectAt(answer, 'usage');
  return {
    ...dialect.read(choice, (text) => withoutKey(text, to)),
    stopReason: stopReasonOf(finishReason),
    promptTokenCount: tokenCountAt(usage, 'prompt_tokens'),
    completionTokenCount: completionTokensIn(usage),
    seconds,
  };
}

/** Some services leave reasoning out of `completion_tokens`, and have it in `total_tokens` alone. */
function completionTokensIn(usage: unknown): number | null {
  const completion = tokenCountAt(usage, 'completion_tokens');
  const prompt = tokenCountAt(usage, 'prompt_tokens');
  const total = tokenCountAt(usage, 'total_tokens');
  const rest = prompt === null || total === null ? 0 : total - prompt;
  return rest > (completion ?? 0) ? rest : completion;
}

/** Some servers leave it out. */
function finishFaultOf({ finish_reason: reason }: JsonObject): string | null {
  return reason === null || reason === undefined || typeof reason === 'string'
    ? null
    : 'finish_reason is no text';
}

function filtered(seconds: number): Completion {
  return {
    message: { role: 'assistant', content: '' },
    rawText: '',
    stopReason: 'content_filter',
    promptTokenCount: null,
    completionTokenCount: null,
    seconds,
  };
}

function checkConcurrency(concurrency: number): void {
  if (Number.isInteger(concurrency) && concurrency > 0) return;
  throw new DomainError(
    'bad-config',
    `The concurrency of an endpoint is ${concurrency}. Give a whole number above 0.`,
  );
}

function closed({ to }: Client): DomainError {
  return new DomainError(
    'request-failed',
    `The client of the endpoint at ${to.address.shown} was closed before the answer came.`,
    { category: 'unknown', retryable: true },
  );
}
