import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Passes on what is asked of an engine, and answers for it where weights to sample from are asked for that it is to have lost. */
export class ForgetfulEngine {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(engineUrl: string, hasLost: (samplerPath: string) => boolean): Promise<ForgetfulEngine> {
    const server = createServer((incoming, outgoing) => {
      void answer(incoming, engineUrl, hasLost).then(
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
    return new ForgetfulEngine(server, `http://127.0.0.1:${port}`);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }
}

async function answer(
  incoming: IncomingMessage,
  engineUrl: string,
  hasLost: (samplerPath: string) => boolean,
): Promise<Response> {
  const { method = 'GET', url = '/', headers } = incoming;
  const body = await bodyOf(incoming);
  if (url.endsWith('/create_sampling_session')) {
    const { model_path: path } = JSON.parse(body.toString()) as { readonly model_path?: string | null };
    if (path && hasLost(path))
      return Response.json({ detail: `Checkpoint not found: ${path}` }, { status: 404 });
  }
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
