/**
 * An OpenAI-compatible endpoint that only keeps time: canned answers, each after a delay.
 *
 *     npx jiti bench/endpoint.ts [--port 0] [--delay-ms 100] [--answer TEXT] [--answers FILE] [--model NAME]
 *         [--limit N] [--per-second N] [--retry-after SECONDS] [--api-key KEY]
 *
 * Prints its base URL. `--answers` is a file of JSON lines `{"prompt","answer"}`, looked up by the last message (or by a
 * prompt that holds it); over `--limit` in flight, or faster than `--per-second` (a bucket of one second), it answers 429. `GET /stats` tells what it saw, `POST /stats/reset`
 * begins anew.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { parseArgs } from 'node:util';

export interface BenchEndpointOptions {
  readonly port?: number;
  readonly delayMs?: number;
  /** Said where no canned answer fits. */
  readonly answer?: string;
  /** By prompt. */
  readonly answers?: ReadonlyMap<string, string>;
  readonly model?: string;
  /** More in flight than this are refused with 429. */
  readonly limit?: number;
  /** Requests a second, from a bucket that holds those of one second. */
  readonly perSecond?: number;
  readonly retryAfterSeconds?: number;
  /** Other keys are refused with 401. */
  readonly apiKey?: string;
}

export interface BenchEndpointStats {
  requestCount: number;
  answeredCount: number;
  refusedCount: number;
  inFlight: number;
  maxInFlight: number;
  connectionCount: number;
  bytesIn: number;
  /** Milliseconds since 1970, of the first request that came in and of the last answer that went out; 0: none yet. */
  firstRequestAt: number;
  lastAnswerAt: number;
}

export interface BenchEndpoint {
  /** Ends in `/v1`. */
  readonly url: string;
  readonly stats: Readonly<BenchEndpointStats>;
  close(): Promise<void>;
}

interface Asked {
  readonly isChat: boolean;
  readonly prompt: string;
}

const MODEL = 'canned';
const ANSWER = 'The answer is 42.\n#### 42';

export async function startBenchEndpoint(options: BenchEndpointOptions = {}): Promise<BenchEndpoint> {
  const stats = newStats();
  const bucket = bucketOf(options.perSecond);
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    void serve(request, response);
  });
  server.on('connection', () => {
    stats.connectionCount += 1;
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    if (request.url === '/stats') reply(response, 200, stats);
    else if (request.url === '/stats/reset') {
      reply(response, 200, Object.assign(stats, newStats(), { inFlight: stats.inFlight }));
    } else if (!isAuthorized(request)) {
      reply(response, 401, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } });
    } else if (request.url === '/v1/models') {
      reply(response, 200, { object: 'list', data: [{ id: options.model ?? MODEL, object: 'model' }] });
    } else complete(request.url ?? '', body, response);
  }

  function isAuthorized({ headers }: IncomingMessage): boolean {
    return options.apiKey === undefined || headers.authorization === `Bearer ${options.apiKey}`;
  }

  function complete(url: string, body: Buffer, response: ServerResponse): void {
    if (stats.requestCount === 0) stats.firstRequestAt = now();
    stats.requestCount += 1;
    stats.bytesIn += body.length;
    const asked = askedIn(url, body);
    if (!asked) reply(response, 404, { error: { message: `no route ${url}` } });
    else if (stats.inFlight >= (options.limit ?? Infinity) || !bucket.takes()) refuse(response);
    else answerLater(response, asked);
  }

  function refuse(response: ServerResponse): void {
    stats.refusedCount += 1;
    if (options.retryAfterSeconds !== undefined) response.setHeader('retry-after', options.retryAfterSeconds);
    reply(response, 429, { error: { message: 'Rate limit reached', code: 'rate_limit_exceeded' } });
  }

  function answerLater(response: ServerResponse, asked: Asked): void {
    stats.inFlight += 1;
    stats.maxInFlight = Math.max(stats.maxInFlight, stats.inFlight);
    const timer = setTimeout(() => {
      stats.answeredCount += 1;
      stats.lastAnswerAt = now();
      reply(response, 200, completionFor(asked, options));
    }, options.delayMs ?? 0);
    response.once('close', () => {
      clearTimeout(timer);
      stats.inFlight -= 1;
    });
  }

  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    stats,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function bucketOf(perSecond = Infinity): { takes(): boolean } {
  let tokens = perSecond;
  let filledAt = now();
  return {
    takes() {
      if (perSecond === Infinity) return true;
      tokens = Math.min(perSecond, tokens + ((now() - filledAt) / 1000) * perSecond);
      filledAt = now();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}

/** Canned answers by prompt, from JSON lines. */
export function readAnswers(file: string): Map<string, string> {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return new Map(
    lines.map((line) => {
      const row = JSON.parse(line) as { prompt: string; answer: string };
      return [row.prompt, row.answer] as const;
    }),
  );
}

function newStats(): BenchEndpointStats {
  return {
    requestCount: 0,
    answeredCount: 0,
    refusedCount: 0,
    inFlight: 0,
    maxInFlight: 0,
    connectionCount: 0,
    bytesIn: 0,
    firstRequestAt: 0,
    lastAnswerAt: 0,
  };
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

function askedIn(url: string, body: Buffer): Asked | null {
  if (url === '/v1/chat/completions') {
    const { messages } = JSON.parse(body.toString()) as { messages: readonly { content: string }[] };
    return { isChat: true, prompt: messages.at(-1)?.content ?? '' };
  }
  if (url === '/v1/completions') {
    return { isChat: false, prompt: (JSON.parse(body.toString()) as { prompt: string }).prompt };
  }
  return null;
}

function completionFor({ isChat, prompt }: Asked, options: BenchEndpointOptions): object {
  const text = answerFor(prompt, options);
  const choice = isChat ? { message: { role: 'assistant', content: text } } : { text };
  return {
    id: 'canned',
    object: isChat ? 'chat.completion' : 'text_completion',
    created: 0,
    model: options.model ?? MODEL,
    choices: [{ index: 0, ...choice, finish_reason: 'stop' }],
    usage: { prompt_tokens: prompt.length, completion_tokens: text.length, total_tokens: prompt.length },
  };
}

function answerFor(prompt: string, { answers, answer = ANSWER }: BenchEndpointOptions): string {
  const exact = answers?.get(prompt);
  if (exact !== undefined) return exact;
  for (const [known, canned] of answers ?? []) if (prompt.includes(known)) return canned;
  return answer;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'delay-ms': { type: 'string', default: '100' },
      answer: { type: 'string' },
      answers: { type: 'string' },
      model: { type: 'string' },
      limit: { type: 'string' },
      'per-second': { type: 'string' },
      'retry-after': { type: 'string' },
      'api-key': { type: 'string' },
    },
  });
  const endpoint = await startBenchEndpoint({
    port: Number(values.port),
    delayMs: Number(values['delay-ms']),
    ...(values.answer !== undefined && { answer: values.answer }),
    ...(values.answers !== undefined && { answers: readAnswers(values.answers) }),
    ...(values.model !== undefined && { model: values.model }),
    ...(values.limit !== undefined && { limit: Number(values.limit) }),
    ...(values['per-second'] !== undefined && { perSecond: Number(values['per-second']) }),
    ...(values['retry-after'] !== undefined && { retryAfterSeconds: Number(values['retry-after']) }),
    ...(values['api-key'] !== undefined && { apiKey: values['api-key'] }),
  });
  console.log(endpoint.url);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      void endpoint.close().then(() => process.exit(0));
    });
  }
}

if (path.resolve(process.argv[1] ?? '') === __filename) void main();
