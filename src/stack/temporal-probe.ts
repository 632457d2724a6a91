import { Connection } from '@temporalio/client';
import type { TemporalAddress } from '../config/temporal-connection';
import { DomainError } from '../core/errors';

const PROBE_LIMIT_MS = 3000;
const SERVING = 1;

export interface TemporalState {
  readonly namespaceExists: boolean;
  readonly searchAttributes: readonly string[];
}

/** What a server that is serving says about our namespace. Throws when it is not there. */
export async function probeTemporal(target: TemporalAddress): Promise<TemporalState> {
  const connection = await Connection.connect({ ...connectionOptions(target), connectTimeout: PROBE_LIMIT_MS });
  try {
    return await connection.withDeadline(Date.now() + PROBE_LIMIT_MS, async () => {
      const health = await connection.healthService.check({ service: 'temporal.api.workflowservice.v1.WorkflowService' });
      if (Number(health.status) !== SERVING) throw new Error('the server is not serving yet');
      return { namespaceExists: true, searchAttributes: await listSearchAttributes(connection, target.namespace) };
    });
  } catch (error) {
    if (error instanceof Error && /NOT_FOUND/.test(error.message)) return { namespaceExists: false, searchAttributes: [] };
    throw error;
  } finally {
    await connection.close();
  }
}

/** Waits until the server serves our namespace with these search attributes. `isGone` says that waiting has become pointless. */
export async function waitUntilServing(
  target: TemporalAddress,
  options: { readonly timeoutMs: number; readonly attributes: readonly string[]; readonly isGone: () => string | null },
): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  let last = 'no answer';
  while (performance.now() < deadline) {
    const gone = options.isGone();
    if (gone !== null) throw new DomainError('temporal-unavailable', gone);
    try {
      const state = await probeTemporal(target);
      const missing = options.attributes.filter((name) => !state.searchAttributes.includes(name));
      if (state.namespaceExists && missing.length === 0) return;
      last = state.namespaceExists ? `no search attribute ${missing.join(', ')}` : `no namespace ${target.namespace}`;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new DomainError(
    'temporal-unavailable',
    `The Temporal server at ${target.address} did not become ready in ${options.timeoutMs / 1000} s: ${last}.`,
  );
}

/** The part of an address that Connection.connect and NativeConnection.connect take. */
export function connectionOptions(target: TemporalAddress): Omit<TemporalAddress, 'namespace'> {
  const { namespace: _namespace, ...options } = target;
  return options;
}

async function listSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const reply = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.keys(reply.customAttributes);
}
