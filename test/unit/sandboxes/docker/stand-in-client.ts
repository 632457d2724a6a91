import type { IncomingMessage } from 'node:http';
import { request as send } from 'node:http';
import type { Socket } from 'node:net';
import type { DockerContainer, DockerEngine } from '../../../../src/sandboxes/docker/docker-engine';

/** Where clients that are made without options find their engine. */
export const engineAt = { socketPath: '' };

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/**
 * The part of the package dockerode that is used, written after its sources (`lib/*.js` of dockerode and docker-modem): the same
 * requests, errors with `statusCode`, the bare socket of a hijacked connection, frames read off it as they become whole.
 */
export class StandInClient implements DockerEngine {
  readonly modem = { demuxStream };

  ping(): Promise<unknown> {
    return ask({ method: 'GET', path: '/_ping' });
  }

  info(): Promise<{ readonly ServerVersion?: string }> {
    return ask({ method: 'GET', path: '/info' });
  }

  getImage(name: string) {
    return { inspect: () => ask({ method: 'GET', path: `/images/${name}/json` }) };
  }

  async createContainer(options: Readonly<Record<string, unknown>>): Promise<DockerContainer> {
    const { Id } = await ask<{ Id: string }>({ method: 'POST', path: '/containers/create?', body: options });
    return this.getContainer(Id);
  }

  listContainers(options: Readonly<Record<string, unknown>>): ReturnType<DockerEngine['listContainers']> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options)) query.set(name, JSON.stringify(value));
    return ask({ method: 'GET', path: `/containers/json?${query.toString()}` });
  }

  getContainer(id: string): DockerContainer {
    const at = `/containers/${id}`;
    return {
      id,
      start: () => ask({ method: 'POST', path: `${at}/start?` }),
      update: (limits) => ask({ method: 'POST', path: `${at}/update`, body: limits }),
      remove: ({ force, v }) => ask({ method: 'DELETE', path: `${at}?force=${force}&v=${v}` }),
      inspect: () => ask({ method: 'GET', path: `${at}/json?` }),
      async exec(options) {
        const { Id } = await ask<{ Id: string }>({ method: 'POST', path: `${at}/exec`, body: options });
        return {
          start: (body) => hijack(`/exec/${Id}/start`, body),
          inspect: () => ask({ method: 'GET', path: `/exec/${Id}/json` }),
        };
      },
    };
  }
}

function ask<Result>({ method, path, body }: Asked): Promise<Result> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { ...(text !== undefined && { 'content-length': Buffer.byteLength(text) }) };
    const asking = send(
      { socketPath: engineAt.socketPath, method, path, headers, agent: false },
      (response) => {
        readBody(response).then((found) => {
          const { statusCode = 0 } = response;
          if (statusCode >= 300) reject(refusal(statusCode, found));
          // As the caller declares it, like the package's own types.
          else resolve((found === '' ? {} : JSON.parse(found)) as Result);
        }, reject);
      },
    );
    asking.on('error', reject);
    asking.end(text);
  });
}

/** The request is not ended: what follows its body is the program's input. */
function hijack(path: string, body: object): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { connection: 'Upgrade', upgrade: 'tcp', 'content-length': Buffer.byteLength(text) };
    const asking = send({ socketPath: engineAt.socketPath, method: 'POST', path, headers, agent: false });
    asking.on('upgrade', (_response, socket) => {
      resolve(socket);
    });
    asking.on('response', (response) => {
      readBody(response).then((found) => {
        reject(refusal(response.statusCode ?? 0, found));
      }, reject);
    });
    asking.on('error', reject);
    asking.write(text);
  });
}

function refusal(statusCode: number, body: string): Error {
  return Object.assign(new Error(`(HTTP code ${statusCode}) ${body}`), { statusCode });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function demuxStream(
  stream: NodeJS.ReadableStream,
  stdout: NodeJS.WritableStream,
  stderr: NodeJS.WritableStream,
): void {
  let header: Buffer | null = null;
  // A socket reads bytes.
  const read = (size: number) => stream.read(size) as Buffer | null;
  stream.on('readable', () => {
    header ??= read(8);
    while (header !== null) {
      const payload = read(header.readUInt32BE(4));
      if (payload === null) break;
      (header.readUInt8(0) === 2 ? stderr : stdout).write(payload);
      header = read(8);
    }
  });
}
