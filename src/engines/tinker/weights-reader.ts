import { constants } from 'node:buffer';
import { DomainError } from '../../core/errors';
import { checkpointRoute } from './checkpoint-path';
import { isObject } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import { failureOf, isRouteMissing } from './failures';
import type { HttpReply } from './transport';
import { packFiles, unpackFiles } from './weights-archive';
import { digestSafetensors } from './weights-digest';
import type { CallOptions } from './protocol-call';
import { jsonOf } from './protocol-call';

export interface WeightsCalls {
  /** The weights as a tar.gz; null where the server does not let them be read. */
  downloadWeights(path: string, options?: CallOptions): Promise<Uint8Array | null>;
  /** sha256 over the float32 tensors in name order; null where the server does not let weights be read. */
  weightsDigest(path: string, options?: CallOptions): Promise<string | null>;
}

const REDIRECT_LIMIT = 5;
/** Signed downloads are large and come from stores that may be slow to begin. */
const DOWNLOAD_TIMEOUT_MS = 300_000;
/** What a buffer may hold. */
const MOST_BYTES = constants.MAX_LENGTH;
const WEIGHTS_FILES = ['adapter_model.safetensors', 'model.safetensors'];

interface WeightsRequest extends CallOptions {
  readonly connection: Connection;
  readonly subject: Subject;
}

/**
 * Reads saved weights: servers answer `archive` with the tar.gz, its address or a redirect to it,
 * newer ones `external_weights_urls` with an address for each file.
 */
export function createWeightsReader(connection: Connection): WeightsCalls {
  async function downloadWeights(path: string, { signal }: CallOptions = {}): Promise<Uint8Array | null> {
    const profile = await connection.profile({ signal });
    if (!profile.readsWeights) return null;
    const subject: Subject = { what: `weights of ${path}`, missing: 'checkpoint-missing' };
    const route = checkpointRoute(path, profile);
    const call = { subject, method: 'GET', timeoutMs: DOWNLOAD_TIMEOUT_MS, signal } as const;
    const asked = { ...call, route: `${route}/archive`, accept: '*/*', mostBytes: MOST_BYTES };
    const reply = await connection.send(asked);
    if (!isRouteMissing(reply)) return archiveFrom(reply, { connection, subject, signal });
    const urls = await connection.send({ ...call, route: `${route}/external_weights_urls` });
    return isRouteMissing(urls) ? null : filesFrom(urls, { connection, subject, signal });
  }

  return {
    downloadWeights,
    async weightsDigest(path, options = {}) {
      const archive = await downloadWeights(path, options);
      if (!archive) return null;
      const [file] = await unpackFiles(archive, (name) =>
        WEIGHTS_FILES.includes(name.split('/').at(-1) ?? ''),
      );
      if (!file) throw protocolError(`The weights of ${path} hold no ${WEIGHTS_FILES.join(' or ')}.`);
      return digestSafetensors(file.bytes);
    },
  };
}

async function archiveFrom(reply: HttpReply, request: WeightsRequest): Promise<Uint8Array> {
  const location = redirectOf(reply);
  if (location !== null) return fetchFile(location, request);
  if (reply.status !== 200) throw failureOf(reply, request.subject);
  if (!reply.contentType.includes('json')) return reply.body;
  const { url } = jsonOf(reply, request.subject);
  if (typeof url !== 'string') throw protocolError(`The answer for the ${request.subject.what} has no url.`);
  return fetchFile(url, request);
}

async function filesFrom(reply: HttpReply, request: WeightsRequest): Promise<Buffer> {
  if (reply.status !== 200) throw failureOf(reply, request.subject);
  const { urls } = jsonOf(reply, request.subject);
  const files = [];
  for (const [name, url] of isObject(urls) ? Object.entries(urls).sort() : []) {
    if (typeof url === 'string') files.push({ name, bytes: await fetchFile(url, request) });
  }
  return packFiles(files);
}

async function fetchFile(address: string, { connection, subject, signal }: WeightsRequest): Promise<Buffer> {
  let url = new URL(address, connection.baseUrl);
  for (let count = 0; count < REDIRECT_LIMIT; count++) {
    const reply = await connection.download(url, {
      ...{ signal, timeoutMs: DOWNLOAD_TIMEOUT_MS, mostBytes: MOST_BYTES },
    });
    if (reply.status === 200) return reply.body;
    const location = redirectOf(reply);
    if (location === null) throw failureOf(reply, subject);
    url = new URL(location, url);
  }
  throw protocolError(`The ${subject.what} are behind more than ${REDIRECT_LIMIT} redirects.`);
}

function redirectOf({ status, headers }: HttpReply): string | null {
  return status >= 300 && status < 400 ? (headers['location'] ?? null) : null;
}

function protocolError(message: string): DomainError {
  return new DomainError('protocol-error', message);
}
