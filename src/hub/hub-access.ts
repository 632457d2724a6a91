import { datasetInfo, modelInfo } from '@huggingface/hub';
import type { Patience } from '../core/concurrency/patient-fetch';
import { DomainError } from '../core/errors';
import { explain } from './hub-errors';
import type { HubRepository } from './hub-errors';
import { hubFetch } from './hub-fetch';

export interface HubAccess {
  /** Where fetched files are kept. */
  readonly cacheFolder: string;
  readonly token?: string;
  /** A mirror of the hub. */
  readonly hubUrl?: string;
  /** How long a silent hub is waited for. */
  readonly patience?: Patience;
}

const COMMIT = /^[0-9a-f]{40}$/;

/** Arguments for the hub's library. An answer of more than `mostBytes` fails. */
export function requestTo(
  { token, hubUrl, patience }: HubAccess,
  mostBytes?: number,
): { accessToken?: string; hubUrl?: string; fetch: typeof fetch } {
  if (token && !token.startsWith('hf_')) {
    throw new DomainError(
      'unauthorized',
      'The Hugging Face token does not begin with "hf_". Correct HF_TOKEN.',
    );
  }
  return {
    ...(token ? { accessToken: token } : {}),
    ...(hubUrl ? { hubUrl } : {}),
    fetch: hubFetch({ token, hubUrl }, patience, mostBytes),
  };
}

export function isCommit(revision: string): boolean {
  return COMMIT.test(revision);
}

/** The commit that a revision stands for now; a commit stands for itself, and nobody is asked. */
export async function resolveCommit(access: HubAccess, repository: HubRepository): Promise<string> {
  const { kind, name, revision } = repository;
  if (revision && isCommit(revision)) return revision;
  const asked = { name, ...(revision ? { revision } : {}), ...requestTo(access) };
  const { sha } = await explained(access, repository, () =>
    kind === 'dataset'
      ? datasetInfo({ ...asked, additionalFields: ['sha'] })
      : modelInfo({ ...asked, additionalFields: ['sha'] }),
  );
  // It becomes the name of a folder, and `hubUrl` may be anybody's.
  if (isCommit(sha)) return sha;
  throw new DomainError(
    'unreachable',
    `The hub names ${JSON.stringify(sha.slice(0, 100))} as the commit of "${name}", which is none. Correct HF_ENDPOINT.`,
  );
}

/** What the hub's library throws becomes an error that says what to do. */
export async function explained<Result>(
  access: HubAccess,
  repository: HubRepository,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw explain(error, repository, access.token);
  }
}
