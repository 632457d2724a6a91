import { createWriteStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { downloadFile } from '@huggingface/hub';
import { DomainError } from '../../core/errors';
import { explained, isCommit, requestTo, resolveCommit } from '../../hub/hub-access';
import type { HubAccess } from '../../hub/hub-access';
import { notFetchedHere } from '../../hub/hub-errors';
import type { HubRepository } from '../../hub/hub-errors';
import { KeptFolder } from '../../hub/kept-folder';

export interface HubTokenizerSource extends HubAccess {
  /** `owner/name` of a model. */
  readonly hub: string;
  /** Branch, tag or commit; a commit needs no network once its files are cached. */
  readonly revision?: string;
}

/** The first that a model has counts. */
const DEFINITIONS = ['tokenizer.json', 'tiktoken.model'];
const OPTIONAL = ['tokenizer_config.json', 'chat_template.jinja'];
const COMPLETE = '.complete';
/** Of one answer; a file is held in memory, and the largest vocabularies take 40 MB. */
const MOST_BYTES = 2 ** 29;
const MODEL_NAME = /^(?!\.)[\w.-]+(\/(?!\.)[\w.-]+)?$/;

/**
 * Brings a model's tokenizer files into the cache and returns their folder:
 *
 * ```
 * <cacheFolder>/tokenizers/<owner>--<name>/<commit>/    files of a commit, and `.complete` once all are there
 *                                          refs/<revision>   commit a branch or tag last stood for
 *                                          local/       put there by a person; used instead of the hub
 * ```
 *
 * A commit that was fetched here is not fetched again, and a hub that cannot be reached is no failure while a branch is known. What
 * somebody else put into the cache is not taken for either.
 */
export async function fetchTokenizerFiles(source: HubTokenizerSource): Promise<string> {
  if (!MODEL_NAME.test(source.hub)) {
    throw new DomainError(
      'unknown-model',
      `"${source.hub.slice(0, 120)}" is no name of a model on the hub, such as "Qwen/Qwen3-8B". Correct it.`,
    );
  }
  const local = join(homeOf(source), 'local');
  for (const name of DEFINITIONS) {
    if (await exists(join(local, name))) return local;
  }
  const commit = await commitOf(source);
  const kept = new KeptFolder(source.cacheFolder, join(homeOf(source), commit));
  if (await isComplete(kept)) return kept.path;
  const wasThere = await isAnyThere(kept);
  await new Fetching(source, commit, kept).all().catch((error: unknown) => {
    throw wasThere && isOutage(error) ? notFetchedHere(error.cause, repositoryOf(source), kept.path) : error;
  });
  return kept.path;
}

function homeOf({ cacheFolder, hub }: HubTokenizerSource): string {
  return join(cacheFolder, 'tokenizers', hub.replaceAll('/', '--'));
}

function repositoryOf(source: HubTokenizerSource): HubRepository {
  const { hub, revision } = source;
  const otherwise = `put its tokenizer.json and chat_template.jinja into ${join(homeOf(source), 'local')}`;
  return { kind: 'model', name: hub, otherwise, ...(revision ? { revision } : {}) };
}

async function commitOf(source: HubTokenizerSource): Promise<string> {
  const { revision = 'main' } = source;
  const repository = repositoryOf(source);
  if (isCommit(revision)) return revision;
  const references = new KeptFolder(source.cacheFolder, join(homeOf(source), 'refs'));
  const reference = encodeURIComponent(revision);
  try {
    const commit = await resolveCommit(source, repository);
    await references.write(reference, (partial) => writeFile(partial, commit));
    return commit;
  } catch (error) {
    if (!isOutage(error)) throw error;
    const known = await references.read(reference);
    if (known !== null && isCommit(known)) return known;
    throw (await references.isTaken(reference))
      ? notFetchedHere(error.cause, repository, references.path)
      : error;
  }
}

/** An error of ours for a hub that cannot answer for now. */
function isOutage(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'unreachable' && error.retryable;
}

/** Whether the files that lie there are those of the commit, no more and no fewer. */
async function isComplete(kept: KeptFolder): Promise<boolean> {
  if (!(await kept.has(COMPLETE))) return false;
  for (const name of [...DEFINITIONS, ...OPTIONAL]) {
    if ((await kept.isTaken(name)) && !(await kept.has(name))) return false;
  }
  return (await kept.has('tokenizer.json')) || kept.has('tiktoken.model');
}

async function isAnyThere(kept: KeptFolder): Promise<boolean> {
  const there = await Promise.all([...DEFINITIONS, ...OPTIONAL].map((name) => kept.isTaken(name)));
  return there.includes(true);
}

class Fetching {
  constructor(
    private readonly source: HubTokenizerSource,
    private readonly commit: string,
    private readonly kept: KeptFolder,
  ) {}

  async all(): Promise<void> {
    const repository = repositoryOf(this.source);
    await explained(this.source, repository, async () => {
      if (!(await this.definition())) throw noTokenizer(repository);
      for (const name of OPTIONAL) await this.one(name);
      // Written last, so that a folder left behind by a crash is completed.
      await this.kept.write(COMPLETE, (partial) => writeFile(partial, ''));
    });
  }

  private async definition(): Promise<boolean> {
    let isFound = false;
    for (const name of DEFINITIONS) {
      if (isFound) await this.kept.remove(name);
      else isFound = await this.one(name);
    }
    return isFound;
  }

  /** False where the commit has none, and then there is none here. */
  private async one(name: string): Promise<boolean> {
    const { source, commit: revision, kept } = this;
    const blob = await downloadFile({
      ...{ repo: source.hub, path: name, revision },
      ...requestTo(source, MOST_BYTES),
    });
    if (blob === null) {
      await kept.remove(name);
      return false;
    }
    await kept.write(name, (partial) =>
      pipeline(Readable.fromWeb(blob.stream()), createWriteStream(partial, { flags: 'wx' })),
    );
    return true;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function noTokenizer({ name, otherwise }: HubRepository): DomainError {
  return new DomainError(
    'unknown-model',
    `Model "${name}" has no tokenizer.json or tiktoken.model on the hub. Use a model with one, or ${otherwise}.`,
  );
}
