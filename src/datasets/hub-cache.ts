import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { datasetInfo, downloadFile, listFiles } from '@huggingface/hub';
import { z } from 'zod';
import type { Patience } from '../core/concurrency/patient-fetch';
import { hubFetch } from '../core/concurrency/hub-fetch';
import { DomainError } from '../core/errors';
import { explain, isOutage, noSuchFile, notFetchedHere } from './hub-errors';
import type { HubRepository } from './hub-errors';
import { isThere, KeptHere, plainStats, requireNoLinks } from './kept-here';

export interface HubAccess {
  /** Where fetched files are kept: `datasets/OWNER--NAME/COMMIT/FILE`. */
  readonly cacheFolder: string;
  readonly token?: string;
  /** A mirror of the hub. */
  readonly hubUrl?: string;
  /** How long a silent hub is waited for. */
  readonly patience?: Patience;
}

/** One commit of a dataset on the hub, kept in a folder once read. What somebody else put into that folder is not taken for it. */
export interface HubSnapshot {
  readonly commit: string;
  list(): Promise<string[]>;
  /** Path of the file on this machine. Safe to call again and from several processes. */
  fetch(path: string): Promise<string>;
}

const Listing = z.array(z.object({ path: z.string(), size: z.number(), sha256: z.string().nullable() }));
type Listing = z.infer<typeof Listing>;

const LISTING = '.listing.json';
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
  const commit = await guard(repository, access, () => resolveCommit(repository, credentials));
  const files = new CommitFolder(join(access.cacheFolder, 'datasets'), {
    ...{ repository, commit },
    request: { repo: { type: 'dataset', name: repository.name }, revision: commit, ...credentials },
  });
  return {
    commit,
    list: () => guard(repository, access, () => files.list()),
    fetch: (path) => guard(repository, access, () => files.fetch(path)),
  };
}

interface Commit {
  readonly repository: HubRepository;
  readonly commit: string;
  readonly request: Omit<Parameters<typeof downloadFile>[0], 'path'> & Parameters<typeof listFiles>[0];
}

/** Of the files in it, those that were fetched here count. */
class CommitFolder {
  private readonly folder: string;
  private readonly kept: KeptHere;

  constructor(
    private readonly root: string,
    private readonly of: Commit,
  ) {
    this.folder = join(root, of.repository.name.replaceAll('/', '--'), of.commit);
    this.kept = new KeptHere(this.folder);
  }

  async list(): Promise<string[]> {
    const listing = await this.knowingWhatIsThere(LISTING, () => this.listing());
    return pathsOf(listing);
  }

  async fetch(path: string): Promise<string> {
    const target = insideFolder(this.folder, path);
    const own = relative(this.folder, target);
    if (!(await this.kept.has(own))) await this.knowingWhatIsThere(own, () => this.download(own));
    return target;
  }

  private async listing(): Promise<Listing> {
    const cached = await this.kept.read(LISTING);
    if (cached !== null) return Listing.parse(JSON.parse(cached));
    const found: Listing = [];
    for await (const entry of listFiles({ ...this.of.request, recursive: true })) {
      if (entry.type === 'file')
        found.push({ path: entry.path, size: entry.size, sha256: entry.lfs?.oid ?? null });
    }
    await this.keep(LISTING, (partial) => writeFile(partial, JSON.stringify(found)));
    return found;
  }

  private async download(path: string): Promise<void> {
    const listing = await this.listing();
    const expected = listing.find((entry) => entry.path === path);
    if (await isAsListed(join(this.folder, path), expected)) return this.kept.add(path);
    const blob = await downloadFile({ ...this.of.request, path });
    if (blob === null) throw noSuchFile(this.of.repository, path, pathsOf(listing));
    await this.keep(path, async (partial) => {
      const most = expected?.size ?? Infinity;
      await pipeline(Readable.fromWeb(blob.stream()), upTo(most, path), createWriteStream(partial));
      await verify(partial, path, expected);
    });
  }

  private async keep(path: string, write: (partial: string) => Promise<void>): Promise<void> {
    const target = join(this.folder, path);
    await requireNoLinks(this.root, target);
    await writeWhole(target, write);
    await this.kept.add(path);
  }

  /** A hub that is away is no reason to believe a file that came from elsewhere, but one to say what it would take. */
  private async knowingWhatIsThere<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
    const wasThere = await isThere(join(this.folder, path));
    try {
      return await work();
    } catch (error) {
      throw wasThere && isOutage(error) ? notFetchedHere(error, this.of.repository, this.folder) : error;
    }
  }
}

function pathsOf(listing: Listing): string[] {
  return listing.map((entry) => entry.path);
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
  if (!expected?.sha256 || (await sha256Of(file)) === expected.sha256) return;
  throw new DomainError(
    'unreachable',
    `"${path}" came from the hub with other bytes than its commit names. Start again to fetch it once more.`,
    { retryable: true },
  );
}

/** Whether a file that came from elsewhere is that of the commit, where the hub says enough to tell. */
async function isAsListed(file: string, expected: Listing[number] | undefined): Promise<boolean> {
  if (!expected?.sha256) return false;
  const isSameSize = (await plainStats(file))?.size === BigInt(expected.size);
  return isSameSize && (await sha256Of(file)) === expected.sha256;
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function insideFolder(folder: string, path: string): string {
  const target = normalize(join(folder, path));
  if (target.startsWith(normalize(folder) + sep)) return target;
  throw new DomainError(
    'bad-dataset',
    `File name "${path}" leaves the dataset's folder. Name a file of the dataset.`,
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
    throw explain(error, repository, access.token);
  }
}
