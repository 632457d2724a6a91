import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { failureOf } from '../http/error-body';
import { EventStream } from '../http/event-stream';

interface StreamTarget {
  readonly reply: FastifyReply;
  readonly logger: Logger;
}

type Send = (chunk: object) => Promise<void>;

/** Sends chunks as OpenAI does: `data:` lines, `[DONE]` at the end, and what went wrong on the way as a last chunk. */
export async function streamAnswer(
  { reply, logger }: StreamTarget,
  produce: (send: Send) => Promise<void>,
): Promise<FastifyReply> {
  const stream = new EventStream(reply);
  const send: Send = (chunk) => stream.send({ data: JSON.stringify(chunk) });
  try {
    await produce(send);
    await stream.send({ data: '[DONE]' });
  } catch (error) {
    const { body, isUnexpected } = failureOf(error);
    if (isUnexpected && stream.isOpen) logger.error({ err: error }, 'stream failed');
    await send(body);
  } finally {
    stream.end();
  }
  return reply;
}
