import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { TemporalAddress } from '../config/temporal-connection';
import { DomainError } from '../core/errors';
import { asSentence } from '../core/sentences';
import { repeatRefusedCalls } from './repeat-refused-calls';

const CONNECT_LIMIT_MS = 3000;
const RETRY_AFTER_MS = 2000;
/** A server under load, or one that is being started again, answers late; what cannot go on without it waits this long. */
const PATIENCE_MS = 30_000;
const LOOK_AGAIN_MS = 500;
const LOCAL = /^(?:127\.|localhost|\[::1\])/;

/**
 * The way to a Temporal server that may be away.
 *
 * The connection is made when it is first needed and is kept. Where it cannot be made, questions are answered from
 * the store, and another attempt is made only after a moment.
 */
export class ServerLink {
  private connected: Client | null = null;
  private attempt: Promise<Client | null> | null = null;
  private triedAt = Number.NEGATIVE_INFINITY;
  private problem = '';
  private repeats = repeatRefusedCalls();

  /**
   * `isKept`: whether somebody sees to it that a server is there, and starts it again where it ended. `whyAway`: what keeps one on
   * this machine from answering, as a full disk; null where nothing is seen.
   */
  constructor(
    readonly target: TemporalAddress | null,
    private readonly isKept: () => boolean = () => false,
    readonly whyAway: () => string | null = () => null,
  ) {}

  /** How messages call the server. */
  get description(): string {
    return this.target ? `${this.target.address} (namespace ${this.target.namespace})` : 'none';
  }

  /** Null where there is no server, or where it cannot be reached. */
  async find(): Promise<Client | null> {
    if (this.connected || !this.target) return this.connected;
    if (!this.attempt && performance.now() - this.triedAt < RETRY_AFTER_MS) return null;
    this.attempt ??= this.connect(this.target).finally(() => {
      this.attempt = null;
      this.triedAt = performance.now();
    });
    return this.attempt;
  }

  /** The client, or the reason there is none. A server that is only slow, or will be back, is waited for. */
  async require(): Promise<Client> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const client = await this.find();
      if (client) return client;
      const isExpected = this.target && (this.isKept() || (await isListening(this.target.address)));
      if (!isExpected || performance.now() >= deadline) break;
      await delay(LOOK_AGAIN_MS);
    }
    const away = this.whyAway();
    throw new DomainError(
      'temporal-unavailable',
      this.target
        ? `No Temporal server answers at ${this.description}: ${asSentence(away ?? this.problem)} ${remedyFor(away, this.target.address)}`
        : 'No Temporal server is known. Start one with `npx everstep dev` in another terminal, where it is found by its data folder, or give the address of one, e.g. as TEMPORAL_ADDRESS.',
    );
  }

  async close(): Promise<void> {
    const connection = (await this.attempt)?.connection ?? this.connected?.connection;
    this.connected = null;
    await this.repeats.end();
    await connection?.close();
  }

  private async connect(target: TemporalAddress): Promise<Client | null> {
    const { namespace, ...options } = target;
    this.repeats = repeatRefusedCalls();
    try {
      const connection = await Connection.connect({
        ...plain(options),
        connectTimeout: CONNECT_LIMIT_MS,
        interceptors: [makeGrpcRetryInterceptor(this.repeats)],
      });
      this.connected = new Client({ connection, namespace });
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
    return this.connected;
  }
}

function remedyFor(away: string | null, address: string): string {
  if (away !== null) return 'Free some space; the stack starts it again by itself.';
  // The server of somebody else is not ours to start.
  const isHere = LOCAL.test(address);
  return isHere
    ? 'Start it, correct TEMPORAL_ADDRESS, or leave that out and run `npx everstep dev`.'
    : 'Start it, or correct TEMPORAL_ADDRESS.';
}

function plain({ metadata, ...options }: Omit<TemporalAddress, 'namespace'>) {
  return { ...options, ...(metadata && { metadata: { ...metadata } }) };
}

/** Whether a process takes connections there, whatever it then answers. */
function isListening(address: string): Promise<boolean> {
  if (!URL.canParse(`tcp://${address}`)) return Promise.resolve(false);
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    const settle = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => {
      settle(true);
    });
    socket.once('error', () => {
      settle(false);
    });
    socket.setTimeout(CONNECT_LIMIT_MS, () => {
      settle(false);
    });
  });
}
