import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { downloadFile, HubApiError, modelInfo } from '@huggingface/hub';
import { DomainError } from '../../core/errors';

export interface HubTokenizerSource {
  /** `owner/name` of a model. */
  readonly hub: string;
  /** Branch, tag or commit; a commit needs no network once its files are cached. */
  readonly revision?: string;
  readonly token?: string;
  readonly cacheFolder: string;
  /** A mirror of the hub. */
  readonly hubUrl?: string;
}

const REQUIRED = 'tokenizer.json';
const OPTIONAL = ['tokenizer_config.json', 'chat_template.jinja'];
const COMMIT = /^[0-9a-f]{40}$/;

/** Brings a model's tokenizer files into the cache and returns their folder. Files already there are kept. */
export async function fetchTokenizerFiles(source: HubTokenizerSource): Promise<string> {
  if (source.token && !source.token.startsWith('hf_')) {
    throw new DomainError(
      'unauthorized',
      'The Hugging Face token does not begin with "hf_". Correct HF_TOKEN.',
    );
  }
  try {
    const commit = await resolveCommit(source);
    const folder = join(source.cacheFolder, 'tokenizers', source.hub.replaceAll('/', '--'), commit);
    // The marker is written last, so that a folder left behind by a crash is completed.
    if (await exists(join(folder, '.complete'))) return folder;
    await mkdir(folder, { recursive: true });
    if (!(await fetchFile(source, commit, join(folder, REQUIRED)))) throw noTokenizer(source);
    for (const name of OPTIONAL) await fetchFile(source, commit, join(folder, name));
    await writeFile(join(folder, '.complete'), '');
    return folder;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw explain(error, source);
  }
}

async function resolveCommit(source: HubTokenizerSource): Promise<string> {
  if (source.revision && COMMIT.test(source.revision)) return source.revision;
  const info = await modelInfo({
    name: source.hub,
    additionalFields: ['sha'],
    ...(source.revision ? { revision: source.revision } : {}),
    ...accessOf(source),
  });
  return info.sha;
}

async function fetchFile(source: HubTokenizerSource, commit: string, target: string): Promise<boolean> {
  const name = target.slice(dirname(target).length + 1);
  const blob = await downloadFile({ repo: source.hub, path: name, revision: commit, ...accessOf(source) });
  if (blob === null) return false;
  const partial = `${target}.${randomUUID()}.partial`;
  try {
    await writeFile(partial, new Uint8Array(await blob.arrayBuffer()));
    await rename(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
  return true;
}

function accessOf({ token, hubUrl }: HubTokenizerSource): { accessToken?: string; hubUrl?: string } {
  return { ...(token ? { accessToken: token } : {}), ...(hubUrl ? { hubUrl } : {}) };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function noTokenizer({ hub }: HubTokenizerSource): DomainError {
  return new DomainError(
    'unknown-model',
    `Model "${hub}" has no tokenizer.json on the hub. Use a model with one, or a local folder that holds it.`,
  );
}

function explain(error: unknown, { hub, revision, token }: HubTokenizerSource): DomainError {
  const status = error instanceof HubApiError ? error.statusCode : null;
  if (status === 401 || status === 403) {
    const remedy = token
      ? 'Ask for access on its page with the account of your token.'
      : 'Set HF_TOKEN to a token of an account that may read it.';
    return new DomainError('unauthorized', `Model "${hub}" is private, gated or does not exist. ${remedy}`, {
      cause: error,
    });
  }
  if (status === 404) {
    const at = revision ? ` at revision "${revision}"` : '';
    return new DomainError('unknown-model', `Model "${hub}"${at} is not on the hub. Check its name.`, {
      cause: error,
    });
  }
  const detail = error instanceof Error ? error.message : String(error);
  return new DomainError(
    'unreachable',
    `The tokenizer of "${hub}" could not be fetched: ${detail}. Check the network, or name a local folder that holds tokenizer.json.`,
    { retryable: status === null || status === 429 || status >= 500, cause: error },
  );
}
