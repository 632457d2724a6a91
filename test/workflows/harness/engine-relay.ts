import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers a request in the engine's stead, or holds it back; null lets it pass. */
type Intercept = (route: string, body: Buffer) => Response | null | Promise<Response | null>;

/** Stands between workers and an engine, and passes on what is asked of it. */
export class EngineRelay {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(engineUrl: string, intercept: Intercept): Promise<EngineRelay> {
    const server = createServer((incoming, outgoing) => {
      void answer(incoming, engineUrl, intercept).then(
        async (response) => {
          const body = Buffer.from(await response.arrayBuffer());
          const type = response.headers.get('content-type') ?? 'application/json';
          outgoing.writeHead(response.status, { 'content-type': type }).end(body);
        },
        () => outgoing.destroy(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return new EngineRelay(server, `http://127.0.0.1:${port}`);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }
}

async function answer(incoming: IncomingMessage, engineUrl: string, intercept: Intercept): Promise<Response> {
  const { method = 'GET', url = '/', headers } = incoming;
  const body = await bodyOf(incoming);
  const own = await intercept(url.replace(/^\/api\/v1\//, '').replace(/\?.*$/, ''), body);
  if (own) return own;
  const passedOn = ['content-type', 'accept', 'x-api-key', 'authorization'].flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as [string, string]] : [];
  });
  return fetch(`${engineUrl}${url}`, {
    method,
    headers: passedOn,
    ...(method !== 'GET' && body.length > 0 && { body }),
  });
}

async function bodyOf(stream: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
