import { createHash } from 'node:crypto';
import { DomainError } from '../../../../core/errors';

/**
 * What clients of a paid, shared service meet:
 *
 *     payment        402 until the account is in order
 *     rate-limit     429 with `Retry-After`
 *     busy           408 to a request that is no poll
 *     server-error   500
 *     token-revoked  401 although the token has not ended by its own words
 *     answer-lost    the request is done, and the connection breaks before the answer
 *     paused         a promise stays `try_again`, with the queue's state
 *     promise-lost   410: the result of this promise can never be had
 *     work-failed    the promise is kept with a failure of the service
 */
export const TROUBLES = [
  'payment',
  'rate-limit',
  'busy',
  'server-error',
  'token-revoked',
  'answer-lost',
  'paused',
  'promise-lost',
  'work-failed',
] as const;
export type Trouble = (typeof TROUBLES)[number];

/** Which requests meet which trouble. */
export interface Strike {
  readonly trouble: Trouble;
  /**
   * The protocol's name of a request, e.g. `optim_step`; for promises that of the result, e.g. `retrieve_future/OptimStep`; `*` for
   * any request but polls and heartbeats.
   */
  readonly route: string;
  /** The how manyeth of the route it meets first, from 1; for promises the how manyeth promise. */
  readonly at: number;
  /** So many requests in a row; 1 where neither this nor `forMs` is given. */
  readonly count?: number;
  /** All requests of the route for so long after the first one that it met. */
  readonly forMs?: number;
}

/** Troubles that a request may meet anywhere and that pass when it is sent again. */
const PASSING: readonly Trouble[] = ['rate-limit', 'busy', 'server-error', 'token-revoked', 'answer-lost'];

export interface SeededStrikes {
  readonly seed: number;
  /** Share of requests that meet one, 0…1. */
  readonly rate: number;
}

/** The trouble of one request, decided by seed, route and number alone. */
export function seededTrouble({ seed, rate }: SeededStrikes, route: string, ordinal: number): Trouble | null {
  const hash = createHash('sha256').update(`${seed}/${route}/${ordinal}`).digest();
  if (hash.readUInt32LE(0) / 2 ** 32 >= rate) return null;
  const troubles = route.startsWith('retrieve_future/') ? [...PASSING, 'paused' as const] : PASSING;
  const candidates = troubles.filter(
    (trouble) => trouble !== 'busy' || !route.startsWith('retrieve_future/'),
  );
  return candidates[hash.readUInt32LE(4) % candidates.length] ?? null;
}

/** Reads `payment:forward_backward@3`, with `x2` behind it for two in a row, or `+8s` for eight seconds. */
export function parseStrike(text: string): Strike {
  const match = /^([\w-]+):([\w/*]+)@(\d+)(?:x(\d+)|\+(\d+)s)?$/.exec(text);
  const trouble = TROUBLES.find((known) => known === match?.[1]);
  const [, , route = '', at, count, seconds] = match ?? [];
  if (trouble === undefined || Number(at) < 1) {
    throw new DomainError(
      'bad-config',
      `"${text}" is no strike. Write TROUBLE:ROUTE@N, TROUBLE:ROUTE@NxCOUNT or TROUBLE:ROUTE@N+SECONDSs, e.g. payment:forward_backward@3. Troubles: ${TROUBLES.join(', ')}.`,
    );
  }
  return {
    trouble,
    route,
    at: Number(at),
    ...(count !== undefined && { count: Number(count) }),
    ...(seconds !== undefined && { forMs: Number(seconds) * 1000 }),
  };
}

/** Reads `7/0.02`: seed 7, one request in fifty. */
export function parseSeeded(text: string): SeededStrikes {
  const [, seed, rate] = /^(\d+)\/(0?\.\d+|0|1)$/.exec(text) ?? [];
  if (seed !== undefined && rate !== undefined) return { seed: Number(seed), rate: Number(rate) };
  throw new DomainError(
    'bad-config',
    `"${text}" is no SEED/RATE. Write it like 7/0.02, the rate between 0 and 1.`,
  );
}
