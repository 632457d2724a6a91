import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { downloadFile, HubApiError, modelInfo } from '@huggingface/hub';
import { hubFetch } from '../../core/concurrency/hub-fetch';
import type { Patience } from '../../core/concurrency/patient-fetch';
import { DomainError } from '../../core/errors';
import { requireNoLinks } from '../../datasets/kept-here';
import { isRecord } from '../reply-blocks';

export interface HubTokenizerSource {
  /** `owner/name` of a model. */
  readonly hub: string;
  /** Branch, tag or commit; a commit needs no network once its files are cached. */
  readonly revision?: string;
  readonly token?: string;
  readonly cacheFolder: string;
  /** A mirror of the hub. */
  readonly hubUrl?: string;
  /** How long a silent hub is waited for. */
  readonly patience?: Patience;
}

/** The first that a model has counts. */
const DEFINITIONS = ['tokenizer.json', 'tiktoken.model'];
const OPTIONAL = ['tokenizer_config.json', 'chat_template.jinja'];
/** Of one answer; a file is held in memory, and the largest vocabularies take 40 MB. */
const MOST_BYTES = 2 ** 29;
const COMMIT = /^[0-9a-f]{40}$/;
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
 * A commit that is there is not fetched again, and a hub that cannot be reached is no failure while a branch is known.
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
  checkToken(source);
  try {
    const commit = await resolveCommit(source);
    const folder = join(homeOf(source), commit);
    // The marker is written last, so that a folder left behind by a crash is completed.
    if (await exists(join(folder, '.complete'))) return folder;
    await fetchDefinition(source, commit, folder);
    for (const name of OPTIONAL) await fetchFile(source, commit, join(folder, name));
    await replaceFile(source, join(folder, '.complete'), new Uint8Array());
    return folder;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw explain(error, source);
  }
}

function homeOf({ cacheFolder, hub }: HubTokenizerSource): string {
  return join(cacheFolder, 'tokenizers', hub.replaceAll('/', '--'));
}

function checkToken({ token }: HubTokenizerSource): void {
  if (!token || token.startsWith('hf_')) return;
  throw new DomainError(
    'unauthorized',
    'The Hugging Face token does not begin with "hf_". Correct HF_TOKEN.',
  );
}

async function resolveCommit(source: HubTokenizerSource): Promise<string> {
  const { revision = 'main' } = source;
  if (COMMIT.test(revision)) return revision;
  const reference = join(homeOf(source), 'refs', encodeURIComponent(revision));
  try {
    const { sha } = await modelInfo({
      name: source.hub,
      additionalFields: ['sha'],
      ...(source.revision ? { revision: source.revision } : {}),
      ...accessOf(source),
    });
    // It becomes the name of a folder, and `hubUrl` may be anybody's.
    if (!COMMIT.test(sha)) throw noCommit(source, sha);
    await replaceFile(source, reference, new TextEncoder().encode(sha));
    return sha;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    const known = isOutage(error) ? await readKnown(reference) : null;
    if (known === null) throw error;
    return known;
  }
}

async function readKnown(reference: string): Promise<string | null> {
  const text = await readFile(reference, 'utf8').catch(() => '');
  return COMMIT.test(text) ? text : null;
}

async function fetchDefinition(source: HubTokenizerSource, commit: string, folder: string): Promise<void> {
  for (const name of DEFINITIONS) {
    if (await fetchFile(source, commit, join(folder, name))) return;
  }
  throw noTokenizer(source);
}

async function fetchFile(source: HubTokenizerSource, commit: string, target: string): Promise<boolean> {
  const name = target.slice(dirname(target).length + 1);
  const blob = await downloadFile({ repo: source.hub, path: name, revision: commit, ...accessOf(source) });
  if (blob === null) return false;
  await replaceFile(source, target, new Uint8Array(await blob.arrayBuffer()));
  return true;
}

async function replaceFile(source: HubTokenizerSource, target: string, content: Uint8Array): Promise<void> {
  await requireNoLinks(join(source.cacheFolder, 'tokenizers'), target);
  const partial = `${target}.${randomUUID()}.partial`;
  try {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(partial, content);
    await rename(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
}

function accessOf({ token, hubUrl, patience }: HubTokenizerSource) {
  return {
    ...(token ? { accessToken: token } : {}),
    ...(hubUrl ? { hubUrl } : {}),
    fetch: hubFetch({ token, hubUrl }, patience, MOST_BYTES),
  };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function noTokenizer(source: HubTokenizerSource): DomainError {
  return new DomainError(
    'unknown-model',
    `Model "${source.hub}" has no tokenizer.json or tiktoken.model on the hub. Use a model with one, or ${localRemedy(source)}.`,
  );
}

function noCommit({ hub }: HubTokenizerSource, sha: string): DomainError {
  return new DomainError(
    'unreachable',
    `The hub names ${JSON.stringify(sha.slice(0, 100))} as the commit of "${hub}", which is none. Correct HF_ENDPOINT.`,
  );
}

function localRemedy(source: HubTokenizerSource): string {
  return `put its tokenizer.json and chat_template.jinja into ${join(homeOf(source), 'local')}`;
}

/** Whether the hub cannot answer for now, rather than refusing. */
function isOutage(error: unknown): boolean {
  const status = error instanceof HubApiError ? error.statusCode : null;
  return status === null || status === 429 || status >= 500;
}

function explain(error: unknown, source: HubTokenizerSource): DomainError {
  const { hub, revision, token } = source;
  const status = error instanceof HubApiError ? error.statusCode : null;
  if (status === 401 || status === 403) {
    const remedy = token
      ? 'Ask for access on its page with the account of your token'
      : 'Set HF_TOKEN to a token of an account that may read it';
    return new DomainError(
      'unauthorized',
      `Model "${hub}" is private, gated or does not exist. ${remedy}, or ${localRemedy(source)}.`,
      { cause: error },
    );
  }
  if (status === 404) {
    const at = revision ? ` at revision "${revision}"` : '';
    return new DomainError('unknown-model', `Model "${hub}"${at} is not on the hub. Check its name.`, {
      cause: error,
    });
  }
  const detail = isRecord(error) && typeof error['message'] === 'string' ? error['message'] : String(error);
  return new DomainError(
    'unreachable',
    `The tokenizer of "${hub}" could not be fetched: ${detail}. Check the network, or ${localRemedy(source)}.`,
    { retryable: isOutage(error), cause: error },
  );
}
