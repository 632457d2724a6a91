import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import type { TemporalAddress } from '../config/temporal-connection';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import type { WantedAttribute } from './search-attributes';
import { addAttributes, lookAtAttributes, WANTED } from './search-attributes';
import { serverWords } from './server-words';

export interface SetupOptions {
  /** How long the server keeps what has ended, where the namespace is made; default 30 days. */
  readonly retentionSeconds?: number;
  /** How long to wait until the server shows what was added; default a minute. */
  readonly patienceMs?: number;
}

type Found = 'present' | 'added';

/** What was there, and what was added. */
export interface SetupReport {
  readonly address: string;
  readonly namespace: { readonly name: string; readonly state: Found };
  readonly searchAttributes: readonly (WantedAttribute & { readonly state: Found })[];
}

const CALL_LIMIT_MS = 10_000;
const PATIENCE_MS = 60_000;
const POLL_MS = 500;
const RETENTION_SECONDS = 30 * 86_400;
/** gRPC's numbers. */
const CODE = {
  invalid: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  exhausted: 8,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

/**
 * Prepares a server: the namespace, and the attributes that runs can be searched by. What is there stays as it is, so it can be
 * repeated. Refused, with the remedy, where permission is missing or a name is taken for something else.
 */
export async function setUpServer(target: TemporalAddress, options: SetupOptions = {}): Promise<SetupReport> {
  const connection = await connect(target);
  try {
    const state = await ensureNamespace(connection, target, options);
    const added = await ensureAttributes(connection, target, options.patienceMs ?? PATIENCE_MS);
    return {
      address: target.address,
      namespace: { name: target.namespace, state },
      searchAttributes: WANTED.map((wanted) => ({
        ...wanted,
        state: added.includes(wanted.name) ? 'added' : 'present',
      })),
    };
  } finally {
    await connection.close();
  }
}

async function connect({ namespace, metadata, ...options }: TemporalAddress): Promise<Connection> {
  try {
    return await Connection.connect({
      ...options,
      ...(metadata && { metadata: { ...metadata } }),
      connectTimeout: CALL_LIMIT_MS,
    });
  } catch (error) {
    throw new DomainError(
      'temporal-unavailable',
      `No Temporal server answers at ${options.address} (namespace ${namespace}): ${asSentence(textOf(error))} Start it, or correct TEMPORAL_ADDRESS.`,
      { cause: error },
    );
  }
}

async function ensureNamespace(
  connection: Connection,
  target: TemporalAddress,
  { retentionSeconds = RETENTION_SECONDS, patienceMs = PATIENCE_MS }: SetupOptions,
): Promise<Found> {
  const { namespace } = target;
  if (await hasNamespace(connection, target)) return 'present';
  try {
    await within(connection, () =>
      connection.workflowService.registerNamespace({
        namespace,
        workflowExecutionRetentionPeriod: msToTs(retentionSeconds * 1000),
      }),
    );
  } catch (error) {
    if (codeOf(error) !== CODE.alreadyExists) throw explainNamespace(error, target);
  }
  await until(
    patienceMs,
    async () => (await hasNamespace(connection, target)) && attributesAnswer(connection, target),
  );
  return 'added';
}

/** A namespace that was just made is known to some parts of a server before others. */
async function attributesAnswer(connection: Connection, { namespace }: TemporalAddress): Promise<boolean> {
  try {
    await within(connection, () => lookAtAttributes(connection, namespace));
    return true;
  } catch (error) {
    return codeOf(error) !== CODE.notFound;
  }
}

async function hasNamespace(connection: Connection, target: TemporalAddress): Promise<boolean> {
  try {
    await within(connection, () =>
      connection.workflowService.describeNamespace({ namespace: target.namespace }),
    );
    return true;
  } catch (error) {
    if (codeOf(error) === CODE.notFound) return false;
    throw explainNamespace(error, target);
  }
}

/** Returns the names of those that were added. */
async function ensureAttributes(
  connection: Connection,
  target: TemporalAddress,
  patienceMs: number,
): Promise<readonly string[]> {
  const { namespace } = target;
  const look = () => within(connection, () => lookAtAttributes(connection, namespace));
  try {
    const { missing, clashing } = await look();
    if (clashing.length > 0) throw clash(clashing, target);
    if (missing.length === 0) return [];
    await within(connection, () => addAttributes(connection, namespace, missing)).catch(unlessPresent);
    const isShown = await until(patienceMs, async () => (await look()).missing.length === 0);
    if (!isShown) throw notShown(target, patienceMs);
    return missing.map(({ name }) => name);
  } catch (error) {
    throw error instanceof DomainError ? error : explainAttributes(error, target);
  }
}

/** Somebody else added them in the same moment. */
function unlessPresent(error: unknown): void {
  if (codeOf(error) !== CODE.alreadyExists) throw error;
}

function explainNamespace(error: unknown, { address, namespace }: TemporalAddress): unknown {
  const remedy = `Have somebody who may create it (temporal operator namespace create -n ${namespace}; in Temporal Cloud: tcld namespace create), or name another with TEMPORAL_NAMESPACE.`;
  if (isForbidden(error)) {
    return new DomainError(
      'unauthorized',
      `The Temporal server at ${address} does not let us look at or make the namespace ${namespace}: ${asSentence(textOf(error))} ${remedy}`,
      { cause: error },
    );
  }
  return unexpected(error, address);
}

function explainAttributes(error: unknown, { address, namespace }: TemporalAddress): unknown {
  const names = WANTED.map(({ name, type }) => `--name ${name} --type ${type}`).join(' ');
  const cloud = WANTED.map(({ name, type }) => `--sa "${name}=${type}"`).join(' ');
  const remedy =
    `Have somebody who may add them: temporal operator search-attribute create -n ${namespace} ${names}; ` +
    `in Temporal Cloud: tcld namespace search-attributes add -n ${namespace} ${cloud}. Runs work without them; only \`runs list\` then reads the store.`;
  if (isForbidden(error)) {
    return new DomainError(
      'unauthorized',
      `The Temporal server at ${address} does not let us add search attributes to ${namespace}: ${asSentence(textOf(error))} ${remedy}`,
      { cause: error },
    );
  }
  if ([CODE.invalid, CODE.exhausted].some((code) => code === codeOf(error))) {
    return new DomainError(
      'refused',
      `The Temporal server at ${address} refuses the search attributes: ${asSentence(textOf(error))} Take away some that nobody uses (temporal operator search-attribute remove), then repeat this.`,
      { cause: error },
    );
  }
  return unexpected(error, address);
}

function clash(clashing: readonly WantedAttribute[], { address, namespace }: TemporalAddress): DomainError {
  const names = clashing.map(({ name, type }) => `${name} (should be ${type})`).join(', ');
  return new DomainError(
    'refused',
    `The Temporal server at ${address} has search attributes of our names with other types in ${namespace}: ${names}. Remove them (temporal operator search-attribute remove), or use another namespace.`,
  );
}

function notShown({ address }: TemporalAddress, patienceMs: number): DomainError {
  return new DomainError(
    'timed-out',
    `The Temporal server at ${address} took the search attributes and does not show them after ${patienceMs / 1000} s. Repeat this in a minute.`,
  );
}

function unexpected(error: unknown, address: string): DomainError {
  return new DomainError(
    'temporal-unavailable',
    `The Temporal server at ${address} could not be prepared: ${asSentence(textOf(error))} Repeat this, or see \`npx everstep doctor\`.`,
    { cause: error },
  );
}

function isForbidden(error: unknown): boolean {
  const codes: readonly number[] = [CODE.permissionDenied, CODE.unimplemented, CODE.unauthenticated];
  return codes.includes(codeOf(error) ?? -1);
}

function codeOf(error: unknown): number | null {
  return serverWords(error).code;
}

function textOf(error: unknown): string {
  return serverWords(error).text;
}

function within<Answer>(connection: Connection, call: () => Promise<Answer>): Promise<Answer> {
  return connection.withDeadline(Date.now() + CALL_LIMIT_MS, call);
}

async function until(patienceMs: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (!(await isTrue())) {
    if (performance.now() >= deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}
