import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ServerRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** From 0, in the order of arrival. */
  readonly index: number;
  /** Fires when the connection goes before the answer. */
  readonly gone: Promise<void>;
}

export interface ServerAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** Objects are sent as JSON, texts as they are. */
  readonly body?: unknown;
  readonly delayMs?: number;
  /** Closes the connection in place of an answer. */
  readonly isBroken?: boolean;
}

export interface ScriptedServer {
  readonly url: string;
  readonly seen: readonly ServerRequest[];
  readonly maxInFlight: number;
  close(): Promise<void>;
}

/** A real HTTP server that answers as the test says. */
export async function startScriptedServer(
  script: (request: ServerRequest) => ServerAnswer | Promise<ServerAnswer>,
): Promise<ScriptedServer> {
  const seen: ServerRequest[] = [];
  let inFlight = 0;
  let maxInFlight = 0;
  const server = createServer((request, response) => {
    inFlight += 1;
    maxInFlight = Math.max(maxInFlight, inFlight);
    const gone = new Promise<void>((resolve) => {
      response.once('close', () => {
        inFlight -= 1;
        if (!response.writableEnded) resolve();
      });
    });
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      const arrived = { url: request.url ?? '', headers: request.headers, body, index: seen.length, gone };
      seen.push(arrived);
      void Promise.resolve(script(arrived)).then((answer) => {
        send(response, answer);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    get maxInFlight() {
      return maxInFlight;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, { status, headers, body, delayMs, isBroken }: ServerAnswer): void {
  const timer = setTimeout(() => {
    if (isBroken) {
      response.destroy();
      return;
    }
    response.writeHead(status ?? 200, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body ?? {}));
  }, delayMs ?? 0);
  response.once('close', () => {
    clearTimeout(timer);
  });
}

export function chatAnswer(
  message: Record<string, unknown> | string,
  more: Record<string, unknown> = {},
): ServerAnswer {
  const said = typeof message === 'string' ? { content: message } : message;
  return {
    body: {
      choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason: 'stop', ...more }],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    },
  };
}

export function textAnswer(text: string): ServerAnswer {
  return { body: { choices: [{ index: 0, text, finish_reason: 'stop' }], usage: { prompt_tokens: 7 } } };
}

/** A port where nobody listens. */
export async function deadUrl(): Promise<string> {
  const server = await startScriptedServer(() => ({}));
  await server.close();
  return server.url;
}
