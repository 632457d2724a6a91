import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { NO_PAGE } from '../../core/page-guard';

export interface StreamEvent {
  readonly id?: string;
  readonly event?: string;
  /** One line: JSON, or a word such as `[DONE]`. */
  readonly data: string;
}

const HEARTBEAT_MS = 15_000;
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  ...NO_PAGE,
  'cache-control': 'no-cache, no-transform',
  // Proxies that collect answers before they pass them on would hold events back.
  'x-accel-buffering': 'no',
};

/** Server-sent events to one client, with a comment now and then so that nobody on the way takes it for dead. */
export class EventStream {
  private readonly raw: ServerResponse;
  private readonly heartbeat: NodeJS.Timeout;

  constructor(reply: FastifyReply, heartbeatMs = HEARTBEAT_MS) {
    reply.hijack();
    this.raw = reply.raw;
    this.raw.writeHead(200, HEADERS);
    this.raw.flushHeaders();
    this.heartbeat = setInterval(() => {
      if (!this.raw.writableNeedDrain) this.raw.write(': heartbeat\n\n');
    }, heartbeatMs);
    this.raw.once('close', () => {
      clearInterval(this.heartbeat);
    });
  }

  get isOpen(): boolean {
    return !this.raw.destroyed && !this.raw.writableEnded;
  }

  /** Resolves when the client can take more, or has gone. */
  async send({ id, event, data }: StreamEvent): Promise<void> {
    if (!this.isOpen) return;
    const lines = [
      ...(id === undefined ? [] : [`id: ${id}`]),
      ...(event === undefined ? [] : [`event: ${event}`]),
      `data: ${data}`,
    ];
    if (this.raw.write(`${lines.join('\n')}\n\n`)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.raw.off('drain', done).off('close', done);
        resolve();
      };
      this.raw.once('drain', done).once('close', done);
    });
  }

  end(): void {
    clearInterval(this.heartbeat);
    if (this.isOpen) this.raw.end();
  }
}
