import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { freePort } from './free-port';

/** What is wrong with the endpoint for the moment. */
export type EndpointMood = 'well' | 'errors' | 'full' | 'slow';

export interface EndpointOptions {
  /** Answers take between half and one and a half times this long. */
  readonly delayMs: number;
}

/** Longer than an example may take. */
const SLOW_MS = 60_000;
const SECOND_MS = 1000;
const RETRY_AFTER = '1';

/**
 * An OpenAI-compatible endpoint whose answers follow from their questions, and which knows what it was asked.
 *
 * A question is paid for once its request is taken on; requests that are refused cost nothing.
 */
export class EvalEndpoint {
  mood: EndpointMood = 'well';
  refusedCount = 0;
  /** Taken on, while the endpoint was slow. */
  slowCount = 0;
  /** How often each question was taken on. */
  readonly asked = new Map<string, number>();
  private answeredAt: number[] = [];
  private answered = 0;
  private readonly open = new Set<ServerResponse>();
  private server: Server | null = null;

  private constructor(
    private readonly port: number,
    private readonly options: EndpointOptions,
  ) {}

  static async start(options: EndpointOptions): Promise<EvalEndpoint> {
    const endpoint = new EvalEndpoint(await freePort(), options);
    await endpoint.up();
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  get answeredCount(): number {
    return this.answered;
  }

  get paidCount(): number {
    return [...this.asked.values()].reduce((sum, count) => sum + count, 0);
  }

  /** What a process that dies now may lose: requests under way, and answers of the last second. */
  get atStake(): number {
    const since = performance.now() - SECOND_MS;
    return this.open.size + this.answeredAt.filter((at) => at >= since).length;
  }

  async up(): Promise<void> {
    const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      void this.serve(request, response);
    });
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.server = server;
  }

  /** As a process that is killed: nobody listens, and connections break. */
  async down(): Promise<void> {
    const { server } = this;
    this.server = null;
    await new Promise((resolve) => {
      server?.close(resolve);
      server?.closeAllConnections();
      if (!server) resolve(null);
    });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === '/v1/models') reply(response, 200, { data: [{ id: 'canned' }] });
    else if (this.mood === 'errors') this.refuse(response, 500);
    else if (this.mood === 'full') this.refuse(response.setHeader('retry-after', RETRY_AFTER), 429);
    else this.takeOn(Buffer.concat(chunks).toString(), response);
  }

  private refuse(response: ServerResponse, status: number): void {
    this.refusedCount += 1;
    reply(response, status, { error: { message: 'Not now' } });
  }

  private takeOn(body: string, response: ServerResponse): void {
    // Sent by the program under test.
    const { messages } = JSON.parse(body) as { messages: readonly { content: string }[] };
    const question = messages.at(-1)?.content ?? '';
    this.asked.set(question, (this.asked.get(question) ?? 0) + 1);
    this.open.add(response);
    const timer = setTimeout(() => {
      this.answer(question, response);
    }, this.delayOf(question));
    response.once('close', () => {
      clearTimeout(timer);
      this.open.delete(response);
    });
  }

  private delayOf(question: string): number {
    if (this.mood === 'slow') {
      this.slowCount += 1;
      return SLOW_MS;
    }
    return this.options.delayMs * (0.5 + numberOf(question, 1000) / 1000);
  }

  private answer(question: string, response: ServerResponse): void {
    const now = performance.now();
    this.answered += 1;
    this.answeredAt.push(now);
    if (this.answeredAt.length > 10_000)
      this.answeredAt = this.answeredAt.filter((at) => at >= now - SECOND_MS);
    const content = `Let me see.\n#### ${answerOf(question)}`;
    reply(response, 200, {
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: question.length, completion_tokens: content.length },
    });
  }
}

/** Questions in the shape of GSM8K; the endpoint knows about half of the answers. */
export function questionLines(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const question = `What is question ${index}?`;
    const answer = index % 2 === 0 ? answerOf(question) : answerOf(question) + 1;
    return `${JSON.stringify({ question, answer: `#### ${answer}` })}\n`;
  });
  return lines.join('');
}

function answerOf(question: string): number {
  return numberOf(question, 97);
}

function numberOf(text: string, below: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) % below;
}

function reply(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
