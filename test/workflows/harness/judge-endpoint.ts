import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface AskedBody {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** What a model of this name says to the last message; null where it refuses it. */
type Say = (model: string, prompt: string) => string | null;

/** An OpenAI-compatible endpoint of several models that knows how often each was asked what. */
export class JudgeEndpoint {
  /** Models whose answers are held back until they are let go. */
  readonly held = new Set<string>();
  /** Models that refuse for the moment. */
  readonly broken = new Set<string>();
  /** Models that answer with errors of the server alone for the moment. */
  readonly failing = new Set<string>();
  /** Models that take no key for the moment. */
  readonly locked = new Set<string>();
  readonly asked: { readonly model: string; readonly prompt: string; readonly key: string | undefined }[] =
    [];
  private readonly waiting: { readonly model: string; readonly answer: () => void }[] = [];

  private constructor(
    private readonly server: Server,
    private readonly say: Say,
  ) {}

  static async start(say: Say, port = 0): Promise<JudgeEndpoint> {
    const server = createServer((request, response) => void endpoint.serve(request, response));
    const endpoint = new JudgeEndpoint(server, say);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return endpoint;
  }

  get url(): string {
    // Listening on a port, so that the address is no path.
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  countOf(model: string): number {
    return this.asked.filter((each) => each.model === model).length;
  }

  /** Prompts a model was asked more than once. */
  repeatedTo(model: string): number {
    const prompts = this.asked.filter((each) => each.model === model).map(({ prompt }) => prompt);
    return prompts.length - new Set(prompts).size;
  }

  /** Answers one request that is held back, and no other. */
  answerOne(model: string): void {
    const index = this.waiting.findIndex((each) => each.model === model);
    for (const each of this.waiting.splice(index, 1)) each.answer();
  }

  letGo(model: string): void {
    this.held.delete(model);
    for (const each of this.waiting.splice(0)) {
      if (each.model === model) each.answer();
      else this.waiting.push(each);
    }
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === '/v1/models') {
      reply(response, 200, { data: [] });
      return;
    }
    // Sent by the program under test.
    const { model, messages } = JSON.parse(Buffer.concat(chunks).toString()) as AskedBody;
    const prompt = messages.at(-1)?.content ?? '';
    this.asked.push({ model, prompt, key: request.headers.authorization });
    const content = this.say(model, prompt);
    if (this.broken.has(model) || content === null) {
      reply(response, 400, { error: { message: 'cannot judge this' } });
      return;
    }
    const answer = () => {
      if (this.locked.has(model)) {
        reply(response, 401, { error: { message: 'this key was revoked' } });
        return;
      }
      if (this.failing.has(model)) {
        reply(response, 500, { error: { message: 'out of memory' } });
        return;
      }
      const message = { role: 'assistant', content };
      const usage = { prompt_tokens: 3, completion_tokens: 2 };
      reply(response, 200, { choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
    };
    if (this.held.has(model)) this.waiting.push({ model, answer });
    else answer();
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
