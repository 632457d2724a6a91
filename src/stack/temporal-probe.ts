import { Connection } from '@temporalio/client';
import type { TemporalAddress } from '../config/temporal-connection';
import { DomainError } from '../core/errors';

const PROBE_LIMIT_MS = 3000;
/** Of each look while a server is waited for: one without a processor answers late. */
const PATIENT_LIMIT_MS = 10_000;
const RETRY_MS = 50;
/** gRPC's numbers. */
const NOT_FOUND = 5;
const NOT_FOR_US = [7, 12];

export interface TemporalState {
  readonly namespaceExists: boolean;
  /** null where the server does not let us look, as Temporal Cloud. */
  readonly searchAttributes: readonly string[] | null;
}

/** What a server that is serving says about a namespace. Throws when it does not serve (yet). */
export async function probeTemporal(
  target: TemporalAddress,
  limitMs = PROBE_LIMIT_MS,
): Promise<TemporalState> {
  const { address, tls, apiKey, metadata } = target;
  const connection = await Connection.connect({
    address,
    connectTimeout: limitMs,
    ...(tls === undefined ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  });
  try {
    return await connection.withDeadline(Date.now() + limitMs, () => lookAt(connection, target.namespace));
  } finally {
    await connection.close();
  }
}

export interface WaitOptions {
  readonly timeoutMs: number;
  /** Search attributes that must be there. */
  readonly attributes: readonly string[];
  /** Where the server is our own: whether it has said that it listens. Until then another may answer at its address. */
  readonly isListening?: () => boolean;
  /** Says why waiting has become pointless. */
  readonly isGone: () => string | null;
}

/** Waits until the server serves the namespace with these search attributes. */
export async function waitUntilServing(target: TemporalAddress, options: WaitOptions): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  let obstacle = 'no answer';
  while (performance.now() < deadline) {
    const gone = options.isGone();
    if (gone !== null) throw new DomainError('temporal-unavailable', gone);
    if (options.isListening?.() !== false) {
      const found = await findObstacle(target, options.attributes);
      if (found === null) return;
      obstacle = found;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  throw new DomainError(
    'temporal-unavailable',
    `The Temporal server at ${target.address} is not ready after ${options.timeoutMs / 1000} s: ${obstacle}. ` +
      'Start it, correct TEMPORAL_ADDRESS, or see `everstep doctor`.',
  );
}

async function findObstacle(target: TemporalAddress, attributes: readonly string[]): Promise<string | null> {
  try {
    const { namespaceExists, searchAttributes } = await probeTemporal(target, PATIENT_LIMIT_MS);
    if (!namespaceExists) return `there is no namespace ${target.namespace}`;
    const missing = attributes.filter((name) => searchAttributes?.includes(name) === false);
    return missing.length === 0 ? null : `there is no search attribute ${missing.join(', ')}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function lookAt(connection: Connection, namespace: string): Promise<TemporalState> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } catch (error) {
    if (grpcCode(error) === NOT_FOUND) return { namespaceExists: false, searchAttributes: [] };
    throw error;
  }
  try {
    const reply = await connection.operatorService.listSearchAttributes({ namespace });
    return { namespaceExists: true, searchAttributes: Object.keys(reply.customAttributes) };
  } catch (error) {
    if (NOT_FOR_US.includes(grpcCode(error) ?? 0)) return { namespaceExists: true, searchAttributes: null };
    throw error;
  }
}

function grpcCode(error: unknown): number | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'number' ? code : null;
}
