import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export const COMMIT = 'a'.repeat(40);

export interface HubServer {
  readonly url: string;
  /** Requests so far, as `METHOD path`. */
  readonly requests: string[];
  close(): Promise<void>;
}

export interface HubServerOptions {
  readonly kind: 'datasets' | 'models';
  readonly files: Readonly<Record<string, string | Buffer>>;
  /** Needed to read anything. */
  readonly token?: string;
  /** Bytes sent instead of the listed file. */
  readonly damaged?: string;
  /** What it calls the commit of a revision. */
  readonly commit?: string;
  /** Files begin to come, and no more of them does. */
  readonly stalls?: boolean;
}

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: string | Buffer;
}

/** The part of the hub's HTTP interface that reading one repository `org/name` takes, on 127.0.0.1. */
export async function startHubServer(options: HubServerOptions): Promise<HubServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://hub').pathname;
    requests.push(`${request.method ?? ''} ${path}`);
    const reply = answer(
      options,
      decodeURIComponent(path),
      request.headers.authorization,
      request.headers.range,
    );
    response.writeHead(reply.status, reply.headers);
    if (options.stalls && path.includes('/resolve/')) response.write(reply.body.slice(0, 1));
    else response.end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function answer(options: HubServerOptions, path: string, authorization?: string, range?: string): Reply {
  if (options.token && authorization !== `Bearer ${options.token}`)
    return json(401, { error: 'Access is restricted' });
  const api = `/api/${options.kind}/org/name`;
  if (path.startsWith(`${api}/revision/`)) {
    const isKnown = ['HEAD', 'main', 'v1', COMMIT].includes(path.split('/').at(-1) ?? '');
    return isKnown
      ? json(200, { _id: '1', id: 'org/name', sha: options.commit ?? COMMIT })
      : json(404, { error: 'Revision not found' });
  }
  if (path.startsWith(`${api}/tree/${COMMIT}`)) return json(200, Object.entries(options.files).map(listed));
  const prefix = `${options.kind === 'datasets' ? '/datasets' : ''}/org/name/resolve/${COMMIT}/`;
  if (path.startsWith(prefix)) return download(options, path.slice(prefix.length), range);
  return json(404, { error: 'Repository not found' });
}

function listed([path, content]: [string, string | Buffer]) {
  const bytes = Buffer.from(content);
  const oid = createHash('sha256').update(bytes).digest('hex');
  const lfs = path.endsWith('.parquet') ? { lfs: { oid, size: bytes.length, pointerSize: 130 } } : {};
  return { type: 'file', path, size: bytes.length, oid: 'b'.repeat(40), ...lfs };
}

function download({ files, damaged }: HubServerOptions, path: string, range?: string): Reply {
  const content = files[path];
  if (content === undefined)
    return { ...json(404, { error: 'Entry not found' }), headers: { 'X-Error-Code': 'EntryNotFound' } };
  const bytes = Buffer.from(damaged ?? content);
  const [start, end] = /bytes=(\d+)-(\d*)/.exec(range ?? '')?.slice(1) ?? ['0', ''];
  const part = bytes.subarray(Number(start), end ? Number(end) + 1 : undefined);
  const headers = {
    ETag: '"1"',
    'Content-Range': `bytes ${start ?? 0}-${Number(start) + part.length - 1}/${bytes.length}`,
  };
  return { status: range ? 206 : 200, headers, body: part };
}

function json(status: number, value: unknown): Reply {
  return { status, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value) };
}
