import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, normalize, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { datasetInfo, downloadFile, HubApiError, listFiles } from '@huggingface/hub';
import { z } from 'zod';
import type { Patience } from '../core/concurrency/patient-fetch';
import { hubFetch } from '../core/concurrency/hub-fetch';
import { DomainError } from '../core/errors';

export interface HubAccess {
  /** Where fetched files are kept: `datasets/OWNER--NAME/COMMIT/FILE`. */
  readonly cacheFolder: string;
  readonly token?: string;
  /** A mirror of the hub. */
  readonly hubUrl?: string;
  /** How long a silent hub is waited for. */
  readonly patience?: Patience;
}

export interface HubRepository {
  readonly name: string;
  readonly revision?: string;
}

/** One commit of a dataset on the hub, kept in a folder once read. */
export interface HubSnapshot {
  readonly commit: string;
  list(): Promise<string[]>;
  /** Path of the file on this machine. Safe to call again and from several processes. */
  fetch(path: string): Promise<string>;
}

const Listing = z.array(z.object({ path: z.string(), size: z.number(), sha256: z.string().nullable() }));
type Listing = z.infer<typeof Listing>;

const COMMIT = /^[0-9a-f]{40}$/;

export async function openHub(access: HubAccess, repository: HubRepository): Promise<HubSnapshot> {
  if (access.token && !access.token.startsWith('hf_')) {
    throw new DomainError(
      'unauthorized',
      'The Hugging Face token does not begin with "hf_". Correct HF_TOKEN.',
    );
  }
  const credentials = {
    ...(access.token ? { accessToken: access.token } : {}),
    ...(access.hubUrl ? { hubUrl: access.hubUrl } : {}),
    fetch: hubFetch(access, access.patience),
  };
  const request = { repo: { type: 'dataset', name: repository.name }, ...credentials } as const;
  const commit = await guard(repository, access, () => resolveCommit(repository, credentials));
  const folder = join(access.cacheFolder, 'datasets', repository.name.replaceAll('/', '--'), commit);

  async function listing(): Promise<Listing> {
    const path = join(folder, '.listing.json');
    const cached = await readFile(path, 'utf8').catch(() => null);
    if (cached !== null) return Listing.parse(JSON.parse(cached));
    const found: Listing = [];
    for await (const entry of listFiles({ ...request, revision: commit, recursive: true })) {
      if (entry.type === 'file')
        found.push({ path: entry.path, size: entry.size, sha256: entry.lfs?.oid ?? null });
    }
    await writeWhole(path, (partial) => writeFile(partial, JSON.stringify(found)));
    return found;
  }

  async function download(path: string): Promise<string> {
    const target = insideFolder(folder, path);
    if (await isFile(target)) return target;
    const blob = await downloadFile({ ...request, path, revision: commit });
    if (blob === null) throw await noSuchFile(repository, path, listing);
    const expected = (await listing()).find((entry) => entry.path === path);
    await writeWhole(target, async (partial) => {
      const most = expected?.size ?? Infinity;
      await pipeline(Readable.fromWeb(blob.stream()), upTo(most, path), createWriteStream(partial));
      await verify(partial, path, expected);
    });
    return target;
  }

  return {
    commit,
    list: () => guard(repository, access, async () => (await listing()).map((entry) => entry.path)),
    fetch: (path) => guard(repository, access, () => download(path)),
  };
}

async function resolveCommit(
  { name, revision }: HubRepository,
  credentials: { accessToken?: string; hubUrl?: string; fetch: typeof fetch },
): Promise<string> {
  if (revision && COMMIT.test(revision)) return revision;
  const info = await datasetInfo({
    name,
    additionalFields: ['sha'],
    ...(revision ? { revision } : {}),
    ...credentials,
  });
  // It becomes the name of a folder, and `hubUrl` may be anybody's.
  if (COMMIT.test(info.sha)) return info.sha;
  throw new DomainError(
    'unreachable',
    `The hub names ${JSON.stringify(info.sha.slice(0, 100))} as the commit of "${name}", which is none. Correct HF_ENDPOINT.`,
  );
}

/** A whole file or none, also after a power loss: what is there is not fetched again. */
async function writeWhole(target: string, write: (partial: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const partial = `${target}.${randomUUID()}.partial`;
  try {
    await write(partial);
    await sync(partial);
    await rename(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
}

/** What the hub sends of a file, as long as it is no more than it listed. */
function upTo(most: number, path: string) {
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let byteCount = 0;
    for await (const chunk of chunks) {
      byteCount += chunk.length;
      if (byteCount > most) {
        throw new DomainError(
          'unreachable',
          `"${path}" came from the hub with more than its ${most} bytes. Start again to fetch it once more.`,
          { retryable: true },
        );
      }
      yield chunk;
    }
  };
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function verify(file: string, path: string, expected: Listing[number] | undefined): Promise<void> {
  const { size } = await stat(file);
  if (expected && size !== expected.size) {
    throw new DomainError(
      'unreachable',
      `"${path}" came from the hub with ${size} bytes instead of ${expected.size}. Start again to fetch it once more.`,
      { retryable: true },
    );
  }
  if (!expected?.sha256) return;
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  if (hash.digest('hex') === expected.sha256) return;
  throw new DomainError(
    'unreachable',
    `"${path}" came from the hub with other bytes than its commit names. Start again to fetch it once more.`,
    { retryable: true },
  );
}

function insideFolder(folder: string, path: string): string {
  const target = normalize(join(folder, path));
  if (target.startsWith(normalize(folder) + sep)) return target;
  throw new DomainError(
    'bad-dataset',
    `File name "${path}" leaves the dataset's folder. Name a file of the dataset.`,
  );
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function noSuchFile(
  { name }: HubRepository,
  path: string,
  listing: () => Promise<Listing>,
): Promise<DomainError> {
  const known = (await listing()).map((entry) => entry.path).slice(0, 12);
  return new DomainError(
    'bad-dataset',
    `Dataset "${name}" has no file "${path}". Its files: ${known.join(', ')}.`,
  );
}

async function guard<Result>(
  repository: HubRepository,
  access: HubAccess,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw explain(error, repository, access);
  }
}

function explain(error: unknown, { name, revision }: HubRepository, { token }: HubAccess): DomainError {
  const status = error instanceof HubApiError ? error.statusCode : null;
  if (status === 401 || status === 403) {
    const remedy = token
      ? 'Ask for access on its page with the account of your token.'
      : 'Set HF_TOKEN to a token of an account that may read it.';
    return new DomainError(
      'unauthorized',
      `Dataset "${name}" is private, gated or does not exist. ${remedy}`,
      {
        cause: error,
      },
    );
  }
  if (status === 404) {
    const at = revision ? ` at revision "${revision}"` : '';
    return new DomainError(
      'bad-dataset',
      `Dataset "${name}"${at} is not on the hub. Check its name and revision.`,
      {
        cause: error,
      },
    );
  }
  const detail = error instanceof Error ? error.message : String(error);
  return new DomainError(
    'unreachable',
    `Dataset "${name}" could not be fetched: ${detail}. Check the network; a revision given as a commit needs none once its files are cached. ` +
      'Or save the files and give their path.',
    { retryable: status === null || status === 429 || status >= 500, cause: error },
  );
}
