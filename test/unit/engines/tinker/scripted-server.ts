import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly raw: Buffer;
  /** The parsed body of a JSON request. */
  readonly json: Record<string, unknown>;
}

interface Answer {
  readonly status?: number;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
  readonly headers?: Record<string, string>;
  /** Breaks the connection instead of answering. */
  readonly breakOff?: boolean;
  /** Sends blanks for as long as somebody reads. */
  readonly isEndless?: boolean;
}

type Script = Answer | readonly Answer[] | ((request: SeenRequest) => Answer | Promise<Answer>);

/** A server that answers each route (`POST create_session`) by a script; the last answer of a list repeats. */
export interface ScriptedServer {
  readonly url: string;
  readonly seen: SeenRequest[];
  on(route: string, script: Script): void;
  requestsTo(route: string): SeenRequest[];
  close(): Promise<void>;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const scripts = new Map<string, (request: SeenRequest) => Answer | Promise<Answer>>();
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    seen.push(request);
    const script = scripts.get(routeOf(request));
    const answer = script ? await script(request) : { status: 404, json: { detail: 'Not Found' } };
    if (answer.breakOff) {
      incoming.socket.destroy();
      return;
    }
    if (answer.isEndless) {
      sendBlanks(response);
      return;
    }
    const body = answer.bytes ?? Buffer.from(answer.json === undefined ? '' : JSON.stringify(answer.json));
    const contentType = answer.bytes ? 'application/x-protobuf' : 'application/json';
    response.writeHead(answer.status ?? 200, { 'content-type': contentType, ...answer.headers }).end(body);
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    on(route, script) {
      const queue = Array.isArray(script) ? [...(script as readonly Answer[])] : null;
      const next = (): Answer =>
        queue && queue.length > 1 ? (queue.shift() ?? {}) : (queue?.[0] ?? (script as Answer));
      scripts.set(route, typeof script === 'function' ? script : next);
    },
    requestsTo: (route) => seen.filter((request) => routeOf(request) === route),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}

function routeOf({ method, path }: SeenRequest): string {
  return `${method} ${path.replace('/api/v1/', '').replace(/\?.*/, '')}`;
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const raw = Buffer.concat(parts);
  const isJson = incoming.headers['content-type']?.includes('json') === true && raw.length > 0;
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    raw,
    json: isJson ? (JSON.parse(raw.toString('utf8')) as Record<string, unknown>) : {},
  };
}

const BLANKS = Buffer.alloc(64 * 1024, ' ');

function sendBlanks(response: ServerResponse): void {
  const send = (): void => {
    while (!response.destroyed && response.write(BLANKS));
  };
  response.on('drain', send);
  response.writeHead(200, { 'content-type': 'application/json' });
  send();
}
