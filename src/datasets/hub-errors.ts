import { HubApiError } from '@huggingface/hub';
import { DomainError } from '../core/errors';

export interface HubRepository {
  readonly name: string;
  readonly revision?: string;
}

export function explain(
  error: unknown,
  { name, revision }: HubRepository,
  token: string | undefined,
): DomainError {
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
  return new DomainError(
    'unreachable',
    `Dataset "${name}" could not be fetched: ${detailOf(error)}. Check the network; a revision given as a commit needs none once its files are cached. ` +
      'Or save the files and give their path.',
    { retryable: isOutage(error), cause: error },
  );
}

export function noSuchFile({ name }: HubRepository, path: string, paths: readonly string[]): DomainError {
  return new DomainError(
    'bad-dataset',
    `Dataset "${name}" has no file "${path}". Its files: ${paths.slice(0, 12).join(', ')}.`,
  );
}

/** Whether the hub cannot answer for now, rather than refusing. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DomainError) return false;
  const status = error instanceof HubApiError ? error.statusCode : null;
  return status === null || status === 429 || status >= 500;
}

export function notFetchedHere(error: unknown, { name }: HubRepository, folder: string): DomainError {
  return new DomainError(
    'unreachable',
    `Dataset "${name}" could not be fetched: ${detailOf(error)}. There are files in ${JSON.stringify(folder)} which were not fetched in this place, as in a copied or unpacked data folder, ` +
      'and they count only once the hub has confirmed them: give the command again where the hub can be reached, or give the path of files that you trust.',
    { retryable: true, cause: error },
  );
}

function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
