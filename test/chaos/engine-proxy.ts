import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:http';
import { createRandom } from '../../src/core/random';
import { Hold } from '../workflows/harness/held-training';
import { sleep } from './service';

export type Fault = 'answers-dropped' | 'answers-delayed' | 'requests-doubled' | 'connections-reset';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

interface Weather {
  readonly fault: Fault;
  readonly random: () => number;
  struckCount: number;
}

const HOST = '127.0.0.1';
const UPDATE = '/api/v1/optim_step';
/** How many of the requests a fault strikes. */
const SHARE = 0.4;
const LONGEST_DELAY_MS = 3000;
/** Headers that are about one connection and not about the message. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];

/** Stands between workers and engine, honest until told otherwise. What it does to a request is what networks do. */
export class EngineProxy {
  /** Requests for optimizer updates wait here while they are held. */
  readonly updates = new Hold();
  private readonly agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  private readonly weathers = new Set<Weather>();
  private server: Server | null = null;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly port: number,
    private readonly enginePort: number,
  ) {}

  get url(): string {
    return `http://${HOST}:${this.port}`;
  }

  async open(): Promise<void> {
    const server = createServer((incoming, outgoing) => {
      this.pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
    server.requestTimeout = 0;
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, HOST, resolve);
    });
  }

  /** Nobody listens any more, and who was connected is cut off. */
  async close(): Promise<void> {
    const { server } = this;
    this.server = null;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  /** Outages take turns. */
  async exclusively(work: () => Promise<void>): Promise<void> {
    const mine = this.turn.then(work);
    this.turn = mine.catch(() => undefined);
    return mine;
  }

  async dispose(): Promise<void> {
    await this.close();
    this.agent.destroy();
  }

  /** Returns how many requests the fault struck until then. */
  async during(fault: Fault, seed: number, until: Promise<unknown>): Promise<number> {
    const weather = { fault, random: createRandom(seed), struckCount: 0 };
    this.weathers.add(weather);
    await until;
    this.weathers.delete(weather);
    return weather.struckCount;
  }

  private async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await readAll(incoming);
    const gone = new AbortController();
    outgoing.once('close', () => {
      gone.abort();
    });
    const forward = (signal?: AbortSignal): Promise<Answer> => this.forward(incoming, body, signal);
    if (incoming.url === UPDATE) await this.updates.pass();
    const weather = [...this.weathers].at(-1);
    if (!weather || weather.random() >= SHARE) {
      respond(outgoing, await forward(gone.signal));
      return;
    }
    weather.struckCount++;
    await strike(weather, outgoing, forward);
  }

  private async forward(incoming: IncomingMessage, body: Buffer, signal?: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: HOST,
          port: this.enginePort,
          agent: this.agent,
          method: incoming.method,
          path: incoming.url,
          headers: { ...withoutConnection(incoming.headers), 'content-length': body.length },
          ...(signal && { signal }),
        },
        (answer) => {
          readAll(answer).then((answered) => {
            resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: answered });
          }, reject);
        },
      );
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  }
}

async function strike(
  { fault, random }: Weather,
  outgoing: ServerResponse,
  forward: () => Promise<Answer>,
): Promise<void> {
  switch (fault) {
    case 'answers-dropped':
      await forward();
      outgoing.destroy();
      return;
    case 'answers-delayed': {
      const answer = await forward();
      await sleep(random() * LONGEST_DELAY_MS);
      respond(outgoing, answer);
      return;
    }
    case 'requests-doubled': {
      const isFirstHeard = random() < 0.5;
      const isAtOnce = random() < 0.5;
      const first = forward();
      if (!isAtOnce) await first;
      const [one, other] = await Promise.all([first, forward()]);
      respond(outgoing, isFirstHeard ? one : other);
      return;
    }
    case 'connections-reset':
      // Before the engine saw the request, or while it works on it.
      if (random() < 0.5) forward().catch(() => undefined);
      outgoing.socket?.resetAndDestroy();
  }
}

function respond(outgoing: ServerResponse, { status, headers, body }: Answer): void {
  if (outgoing.destroyed) return;
  outgoing.writeHead(status, withoutConnection(headers)).end(body);
}

function withoutConnection(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name)));
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
