import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join, normalize, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { downloadFile, listFiles } from '@huggingface/hub';
import { z } from 'zod';
import { DomainError } from '../core/errors';
import { explained, requestTo, resolveCommit } from '../hub/hub-access';
import type { HubAccess } from '../hub/hub-access';
import { isOutage, notFetchedHere } from '../hub/hub-errors';
import type { HubRepository } from '../hub/hub-errors';
import { KeptFolder, plainStats } from '../hub/kept-folder';

/**
 * One commit of a dataset on the hub, kept in `<cacheFolder>/datasets/OWNER--NAME/COMMIT/FILE` once read. What somebody else put into
 * that folder is not taken for it.
 */
export interface HubSnapshot {
  readonly commit: string;
  list(): Promise<string[]>;
  /** Path of the file on this machine. Safe to call again and from several processes. */
  fetch(path: string): Promise<string>;
}

const Listing = z.array(z.object({ path: z.string(), size: z.number(), sha256: z.string().nullable() }));
type Listing = z.infer<typeof Listing>;

const LISTING = '.listing.json';

export async function openHub(
  access: HubAccess,
  named: Pick<HubRepository, 'name' | 'revision'>,
): Promise<HubSnapshot> {
  const repository = {
    ...named,
    kind: 'dataset',
    otherwise: 'give the path of files that you saved',
  } as const;
  const repo = { type: 'dataset', name: repository.name } as const;
  const credentials = requestTo(access);
  const commit = await resolveCommit(access, repository);
  const folder = join(access.cacheFolder, 'datasets', repository.name.replaceAll('/', '--'), commit);
  const files = new CommitFolder(new KeptFolder(access.cacheFolder, folder), {
    repository,
    request: { repo, revision: commit, ...credentials },
  });
  return {
    commit,
    list: () => explained(access, repository, () => files.list()),
    fetch: (path) => explained(access, repository, () => files.fetch(path)),
  };
}

interface Commit {
  readonly repository: HubRepository;
  readonly request: Omit<Parameters<typeof downloadFile>[0], 'path'> & Parameters<typeof listFiles>[0];
}

/** Of the files in it, those that were fetched here count. */
class CommitFolder {
  constructor(
    private readonly kept: KeptFolder,
    private readonly of: Commit,
  ) {}

  async list(): Promise<string[]> {
    const listing = await this.knowingWhatIsThere(LISTING, () => this.listing());
    return pathsOf(listing);
  }

  async fetch(path: string): Promise<string> {
    const target = insideFolder(this.kept.path, path);
    const own = relative(this.kept.path, target);
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
    await this.kept.write(LISTING, (partial) => writeFile(partial, JSON.stringify(found)));
    return found;
  }

  private async download(path: string): Promise<void> {
    const listing = await this.listing();
    const expected = listing.find((entry) => entry.path === path);
    if (await isAsListed(join(this.kept.path, path), expected)) return this.kept.confirm(path);
    const blob = await downloadFile({ ...this.of.request, path });
    if (blob === null) throw noSuchFile(this.of.repository, path, pathsOf(listing));
    await this.kept.write(path, async (partial) => {
      const most = expected?.size ?? Infinity;
      await pipeline(Readable.fromWeb(blob.stream()), upTo(most, path), createWriteStream(partial));
      await verify(partial, path, expected);
    });
  }

  /** A hub that is away is no reason to believe a file that came from elsewhere, but one to say what it would take. */
  private async knowingWhatIsThere<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
    const wasThere = await this.kept.isTaken(path);
    try {
      return await work();
    } catch (error) {
      throw wasThere && isOutage(error) ? notFetchedHere(error, this.of.repository, this.kept.path) : error;
    }
  }
}

function pathsOf(listing: Listing): string[] {
  return listing.map((entry) => entry.path);
}

function noSuchFile({ name }: HubRepository, path: string, paths: readonly string[]): DomainError {
  return new DomainError(
    'bad-dataset',
    `Dataset "${name}" has no file "${path}". Its files: ${paths.slice(0, 12).join(', ')}.`,
  );
}

/** What the hub sends of a file, as long as it is no more than it listed. */
function upTo(most: number, path: string) {
  return async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let byteCount = 0;
    for await (const chunk of chunks) {
      byteCount += chunk.length;
      if (byteCount > most) throw otherThanListed(path, `more than its ${most} bytes`);
      yield chunk;
    }
  };
}

async function verify(file: string, path: string, expected: Listing[number] | undefined): Promise<void> {
  const { size } = await stat(file);
  if (expected && size !== expected.size)
    throw otherThanListed(path, `${size} bytes instead of ${expected.size}`);
  if (!expected?.sha256 || (await sha256Of(file)) === expected.sha256) return;
  throw otherThanListed(path, 'other bytes than its commit names');
}

function otherThanListed(path: string, what: string): DomainError {
  return new DomainError(
    'unreachable',
    `"${path}" came from the hub with ${what}. Start again to fetch it once more.`,
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
