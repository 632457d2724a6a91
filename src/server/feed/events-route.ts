import path from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { anySignal } from '../../core/concurrency/any-signal';
import { RunHandle } from '../../client/run-handle';
import { readWholeFile } from '../../stores/reading';
import type { RunAccess } from '../api/run-access';
import { RunPath } from '../api/run-routes';
import type { StreamEvent } from '../http/event-stream';
import { EventStream } from '../http/event-stream';
import { RequestError } from '../http/request-error';
import type { Routes } from '../http/route';
import type { FeedCursor } from './feed-cursor';
import { readCursor, shortDigest } from './feed-cursor';
import { FeedReader } from './feed-reader';
import { RunTail, textOf } from './run-tail';
import { RunTails } from './run-tails';

export interface FeedOptions {
  readonly access: RunAccess;
  readonly logger: Logger;
  /** Fires when the server stops: streams end then, and clients come back for the rest. */
  readonly stopping: AbortSignal;
}

const MOST_STREAMS = 1000;
const ROWS_A_TURN = 50;

const Query = z.strictObject({
  from: z.enum(['start', 'now']).default('start').describe('From the first row, or only what is new'),
  lastEventId: z
    .string()
    .max(200)
    .optional()
    .describe('As the header Last-Event-ID, where that cannot be set'),
});

/** `GET /api/v1/runs/{run}/events`: what happens to a run, as it happens. */
export function addEventsRoute(routes: Routes, { access, logger, stopping }: FeedOptions): void {
  const tails = new RunTails();
  let streamCount = 0;
  routes.add(
    {
      method: 'GET',
      path: '/api/v1/runs/{run}/events',
      id: 'followRun',
      summary: 'Steps, scores, checkpoints, changes and status of a run as server-sent events, until it ends',
      tag: 'runs',
      parameters: RunPath,
      query: Query,
      answers: {
        200: {
          description:
            'Events `step`, `score`, `checkpoint`, `control`, `event`, `rewind` and `status`, each with the row as JSON',
          schema: z.string(),
          contentType: 'text/event-stream',
        },
        204: { description: 'The client has heard how the run ended: it need not come back' },
      },
    },
    async ({ parameters: { run }, query, request, reply, signal }) => {
      const from = cursorOf(query.lastEventId ?? request.headers['last-event-id']) ?? query.from;
      const { handle } = await access.handle(run);
      const report = await handle.status();
      const folder = access.records.runFolder(run);
      const owner = shortDigest(await ownerOf(folder, report.startedAt));
      const isHeard = typeof from !== 'string' && from.isEnd && from.owner === owner;
      if (isHeard && report.closedAt !== null) return reply.code(204).send();
      if (streamCount >= MOST_STREAMS) throw tooMany();
      const readStatus = async () => new RunHandle(run, (await access.current()).sources).find();
      const either = anySignal([signal, stopping]);
      streamCount += 1;
      const stream = new EventStream(reply);
      try {
        await tails.follow(
          JSON.stringify([run, owner]),
          () => new RunTail({ owner, folder, readStatus, logger }),
          (tail) => tell(tail, { from, stream, signal: either }),
        );
      } catch (error) {
        logger.error({ err: error, run }, 'feed failed');
      } finally {
        streamCount -= 1;
        stream.end();
      }
      return reply;
    },
  );
}

interface Listener {
  readonly from: FeedCursor | 'start' | 'now';
  readonly stream: EventStream;
  readonly signal: AbortSignal;
}

async function tell(tail: RunTail, { from, stream, signal }: Listener): Promise<void> {
  await tail.changed(0, signal);
  const reader = new FeedReader(tail, from);
  let told: string | null = null;
  while (!signal.aborted) {
    const { state, isOver, status } = tail;
    await tellRows(reader.take(isOver), { stream, signal });
    const text = textOf(status);
    if (isOver || text !== told) {
      const id = isOver ? reader.endId : reader.id;
      await stream.send({ id, event: 'status', data: JSON.stringify(status) });
      told = text;
    }
    if (isOver) return;
    await tail.changed(state, signal);
  }
}

async function tellRows(
  events: Iterable<StreamEvent>,
  { stream, signal }: Pick<Listener, 'stream' | 'signal'>,
): Promise<void> {
  let toldCount = 0;
  for (const event of events) {
    if (signal.aborted) return;
    await stream.send(event);
    // What the system takes at once ends no turn of its own, however much it is: others wait for theirs.
    if (++toldCount % ROWS_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

function cursorOf(text: string | string[] | undefined): FeedCursor | null {
  return typeof text === 'string' && text !== '' ? readCursor(text) : null;
}

/** A run that is still being prepared has no folder; when it was started tells it from others of its name. */
async function ownerOf(folder: string, startedAt: string): Promise<string> {
  return (await readWholeFile(path.join(folder, 'owner.json'))) ?? startedAt;
}

function tooMany(): RequestError {
  return new RequestError(429, {
    message: 'Too many clients follow runs already. Come back in a moment.',
    retryAfterSeconds: 5,
  });
}
