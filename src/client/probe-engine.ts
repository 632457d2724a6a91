import { DomainError } from '../core/errors';

const PROBE_LIMIT_MS = 3000;

/** Refuses a training service that cannot be reached from here. Whatever it answers, it is there. */
export async function probeEngine(url: string): Promise<void> {
  try {
    await fetch(`${url.replace(/\/+$/, '')}/api/v1/healthz`, { signal: AbortSignal.timeout(PROBE_LIMIT_MS) });
  } catch (error) {
    throw new DomainError(
      'unreachable',
      `engine.url: no training service answers at ${url} (${reasonOf(error)}). Start it, or name another one with --engine.`,
      { cause: error },
    );
  }
}

/** `fetch` hides the reason in `cause`; where an address had several forms, that of the first is in `errors`. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  if ('name' in error && error.name === 'TimeoutError')
    return `nothing came back in ${PROBE_LIMIT_MS / 1000} s`;
  if ('cause' in error && error.cause !== undefined) return reasonOf(error.cause);
  if ('errors' in error && Array.isArray(error.errors)) return reasonOf(error.errors[0]);
  return 'message' in error ? String(error.message) : 'no reason given';
}
