import { stripEnd } from '../core/strip-ends';
import { DomainError } from '../core/errors';

const PROBE_LIMIT_MS = 3000;

/** Refuses a training service that cannot be reached from here. Whatever it answers, it is there. */
export async function probeEngine(url: string): Promise<void> {
  try {
    await fetch(`${baseOf(url)}/api/v1/healthz`, { signal: AbortSignal.timeout(PROBE_LIMIT_MS) });
  } catch (error) {
    throw new DomainError(
      'unreachable',
      `engine.url: no training service answers at ${url} (${reasonOf(error)}). Start it, or name another one with --engine.`,
      { cause: error },
    );
  }
}

/** Whether a service knows a checkpoint; null where it does not say, which is no reason to refuse anything. */
export async function hasCheckpoint(url: string, checkpoint: string): Promise<boolean | null> {
  try {
    const answer = await fetch(`${baseOf(url)}/api/v1/weights_info`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tinker_path: checkpoint }),
      signal: AbortSignal.timeout(PROBE_LIMIT_MS),
    });
    if (answer.ok) return true;
    return answer.status === 404 ? false : null;
  } catch {
    return null;
  }
}

function baseOf(url: string): string {
  return stripEnd(url, '/');
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
