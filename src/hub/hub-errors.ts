import { HubApiError } from '@huggingface/hub';
import { DomainError } from '../core/errors';

export interface HubRepository {
  readonly kind: 'dataset' | 'model';
  /** `owner/name`. */
  readonly name: string;
  /** Branch, tag or commit. */
  readonly revision?: string;
  /** What helps where the hub does not: the end of a sentence. */
  readonly otherwise: string;
}

export function explain(error: unknown, repository: HubRepository, token: string | undefined): DomainError {
  const { kind, revision, otherwise } = repository;
  const status = error instanceof HubApiError ? error.statusCode : null;
  if (status === 401 || status === 403) {
    const remedy = token
      ? 'Ask for access on its page with the account of your token'
      : 'Set HF_TOKEN to a token of an account that may read it';
    return new DomainError(
      'unauthorized',
      `${called(repository)} is private, gated or does not exist. ${remedy}, or ${otherwise}.`,
      { cause: error },
    );
  }
  if (status === 404) {
    const at = revision ? ` at revision "${revision}"` : '';
    return new DomainError(
      kind === 'dataset' ? 'bad-dataset' : 'unknown-model',
      `${called(repository)}${at} is not on the hub. Check its name and revision.`,
      { cause: error },
    );
  }
  return new DomainError(
    'unreachable',
    `${called(repository)} could not be fetched: ${detailOf(error)}. Check the network; a revision given as a commit needs none once its files are cached. Or ${otherwise}.`,
    { retryable: isOutage(error), cause: error },
  );
}

/** Whether the hub cannot answer for now, rather than refusing. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DomainError) return false;
  const status = error instanceof HubApiError ? error.statusCode : null;
  return status === null || status === 429 || status >= 500;
}

export function notFetchedHere(error: unknown, repository: HubRepository, folder: string): DomainError {
  return new DomainError(
    'unreachable',
    `${called(repository)} could not be fetched: ${detailOf(error)}. There are files in ${JSON.stringify(folder)} which were not fetched in this place, as in a copied or unpacked data folder, ` +
      `and they count only once the hub has confirmed them: give the command again where the hub can be reached, or, if you trust such files, ${repository.otherwise}.`,
    { retryable: true, cause: error },
  );
}

function called({ kind, name }: HubRepository): string {
  return `${kind === 'dataset' ? 'Dataset' : 'Model'} "${name}"`;
}

function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
