import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

export interface AskedProgram {
  readonly argv: readonly string[];
  readonly env: readonly string[];
  readonly stdin: string;
  readonly socket: Duplex;
}

/** What a program is said to have done; null keeps its connection open. */
export interface ToldProgram {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number | null;
}

export interface StandInContainer {
  readonly id: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** What it was told to hold its processes to after it was made, oldest first. */
  readonly updates: Readonly<Record<string, unknown>>[];
  state: { Running: boolean; OOMKilled: boolean };
}

interface StandInExec {
  readonly container: string;
  readonly options: { readonly Cmd: readonly string[]; readonly Env: readonly string[] };
  exitCode: number | null;
}

type Program = (asked: AskedProgram) => ToldProgram | null;

const FRAME_HEADER = 8;
/** Frames arrive in pieces of this size, whatever their own. */
const PIECE = 5;

/**
 * Answers as the Docker Engine HTTP API does, over a unix socket, as far as sandboxes use it: no containers, nothing is run, and
 * what a program does is what a test says. It shows what is asked of an engine and how its answers are read; that a real engine keeps
 * what is asked of it is shown by the contract tests where there is one.
 */
export class StandInEngine {
  readonly containers = new Map<string, StandInContainer>();
  /** Programs in the order they were started. */
  readonly started: (readonly string[])[] = [];
  readonly removed: string[] = [];
  hasImage = true;
  /** Status and message of the next answer to a request whose path matches. */
  refusal: { readonly path: RegExp; readonly status: number; readonly message: string } | null = null;
  /** Paths that are never answered. */
  silence: RegExp | null = null;
  program: Program = () => ({ exitCode: 0 });
  readonly socketPath: string;
  private readonly folder: string;
  private readonly server: Server;
  private readonly execs = new Map<string, StandInExec>();
  private readonly sockets = new Set<Socket>();
  private count = 0;

  private constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'stand-in-engine-'));
    this.socketPath = join(this.folder, 'docker.sock');
    this.server = createServer((request, response) => void this.serve(request, response));
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    this.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.attach(request, socket, head);
    });
  }

  static async start(): Promise<StandInEngine> {
    const engine = new StandInEngine();
    await new Promise<void>((resolve) => engine.server.listen(engine.socketPath, resolve));
    return engine;
  }

  /** As where the daemon is killed: every connection is cut, and nobody listens. */
  async die(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async close(): Promise<void> {
    await this.die();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
    const { pathname } = new URL(request.url ?? '', 'http://engine');
    if (this.silence?.test(pathname)) return;
    const answer = this.refusalOf(pathname) ?? this.answer(`${request.method ?? ''} ${pathname}`, body);
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  }

  private refusalOf(pathname: string): Answer | null {
    const { refusal } = this;
    if (!refusal?.path.test(pathname)) return null;
    this.refusal = null;
    return { status: refusal.status, body: { message: refusal.message } };
  }

  private answer(request: string, body: string): Answer {
    const id = request.split('/')[2] ?? '';
    if (request === 'POST /containers/create') return this.create(body);
    if (request.startsWith('GET /exec/'))
      return { status: 200, body: { ExitCode: this.execs.get(id)?.exitCode ?? null } };
    return this.generalAnswer(request) ?? this.answerOf(request, this.containers.get(id), body);
  }

  private generalAnswer(request: string): Answer | null {
    if (request === 'GET /_ping') return { status: 200 };
    if (request === 'GET /info') return { status: 200, body: { Name: 'stand-in', ServerVersion: '28.0.0' } };
    if (request.startsWith('GET /images/')) return this.hasImage ? { status: 200, body: {} } : NO_IMAGE;
    if (request === 'GET /containers/json') return { status: 200, body: this.listings() };
    return null;
  }

  private answerOf(request: string, container: StandInContainer | undefined, body: string): Answer {
    if (!container) return { status: 404, body: { message: 'No such container' } };
    if (request.startsWith('DELETE')) {
      this.containers.delete(container.id);
      this.removed.push(container.id);
      return { status: 204 };
    }
    if (request.endsWith('/start')) {
      container.state.Running = true;
      return { status: 204 };
    }
    if (request.endsWith('/update')) {
      container.updates.push(parse(body));
      return { status: 200, body: { Warnings: [] } };
    }
    if (request.endsWith('/exec')) return this.createExec(container, body);
    return { status: 200, body: { State: container.state } };
  }

  private create(body: string): Answer {
    if (!this.hasImage) return NO_IMAGE;
    const id = `container-${++this.count}`;
    const options = parse(body);
    this.containers.set(id, { id, options, updates: [], state: { Running: false, OOMKilled: false } });
    return { status: 201, body: { Id: id, Warnings: [] } };
  }

  private createExec(container: StandInContainer, body: string): Answer {
    if (!container.state.Running) return { status: 409, body: { message: 'container is not running' } };
    const id = `exec-${++this.count}`;
    // Sent by the code under test.
    const options = parse(body) as StandInExec['options'];
    this.execs.set(id, { container: container.id, options, exitCode: null });
    return { status: 201, body: { Id: id } };
  }

  private listings(): object[] {
    return [...this.containers.values()].map(({ id, options }) => ({ Id: id, Labels: options['Labels'] }));
  }

  /** Standard input until it ends, then frames of output: a byte that names the stream, three of nothing, the length. */
  private attach(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const exec = this.execs.get((request.url ?? '').split('/')[2] ?? '');
    const refusal = this.refusalOf(request.url ?? '');
    if (!exec || refusal) {
      refuse(socket, refusal ?? { status: 404 });
      return;
    }
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    this.started.push(exec.options.Cmd);
    const length = Number(request.headers['content-length'] ?? 0);
    const chunks: Buffer[] = [head];
    const told = new EventEmitter();
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => told.emit('input'));
    socket.on('error', () => undefined);
    told.once('input', () => {
      const stdin = Buffer.concat(chunks).subarray(length).toString();
      const { Cmd: argv, Env: env } = exec.options;
      const end = this.program({ argv, env, stdin, socket });
      if (end === null) return;
      exec.exitCode = end.exitCode === undefined ? 0 : end.exitCode;
      void this.tell(socket, Buffer.concat([frame(1, end.stdout ?? ''), frame(2, end.stderr ?? '')]));
    });
  }

  private async tell(socket: Duplex, bytes: Buffer): Promise<void> {
    const piece = bytes.length > 10_000 ? 4096 : PIECE;
    for (let at = 0; at < bytes.length; at += piece) {
      socket.write(bytes.subarray(at, at + piece));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
  }
}

function refuse(socket: Duplex, { status, body = {} }: Answer): void {
  const text = JSON.stringify(body);
  socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

const NO_IMAGE: Answer = { status: 404, body: { message: 'No such image: python:3.12-slim' } };

export function frame(stream: 1 | 2, text: string): Buffer {
  if (text === '') return Buffer.alloc(0);
  const payload = Buffer.from(text);
  const header = Buffer.alloc(FRAME_HEADER);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

function parse(body: string): Record<string, unknown> {
  // JSON of the code under test.
  return JSON.parse(body) as Record<string, unknown>;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
