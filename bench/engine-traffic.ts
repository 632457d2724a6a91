import { subscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';

/** One moment at the engine's server, in milliseconds since 1970. */
export interface Moment {
  readonly kind: 'answered' | 'submitted';
  readonly atMs: number;
}

/**
 * When the engine's server has sent a result of training, and when the next step's first request comes in.
 *
 * It listens at whatever server is made in this process, so the product's own knows nothing of it.
 */
export class EngineTraffic {
  private moments: Moment[] = [];

  listen(): void {
    subscribe('fastify.initialization', (message) => {
      // The channel's one message, by fastify's documentation.
      const { fastify } = message as { readonly fastify: FastifyInstance };
      fastify.addHook('onRequest', async ({ url }) => {
        if (url.endsWith('/forward_backward')) this.note('submitted');
      });
      fastify.addHook('onResponse', async ({ url, body }, { statusCode }) => {
        if (url.endsWith('/retrieve_future') && statusCode === 200 && isOfTraining(body))
          this.note('answered');
      });
    });
  }

  /** What happened since the last call. */
  take(): Moment[] {
    const taken = this.moments;
    this.moments = [];
    return taken;
  }

  private note(kind: Moment['kind']): void {
    this.moments.push({ kind, atMs: performance.timeOrigin + performance.now() });
  }
}

/** The request's id names the model it went to; draws name none. */
function isOfTraining(body: unknown): boolean {
  return JSON.stringify(body).includes(':train:');
}

export interface Gap {
  readonly fromMs: number;
  readonly milliseconds: number;
}

/** From the last result sent before a step is submitted to its first request. */
export function gapsBeforeSubmits(moments: readonly Moment[]): Gap[] {
  const gaps: Gap[] = [];
  let answeredMs: number | null = null;
  for (const { kind, atMs } of moments) {
    if (kind === 'answered') answeredMs = atMs;
    else if (answeredMs !== null) {
      gaps.push({ fromMs: answeredMs, milliseconds: atMs - answeredMs });
      answeredMs = null;
    }
  }
  return gaps;
}
