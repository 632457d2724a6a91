import { connect } from 'node:net';
import type { MetricsRow } from '../../../../src/core/run';
import { EventStream } from '../../../../src/server/http/event-stream';
import type { HeardEvent, TestServer } from '../serving';
import { readEvents, startServer, stateOf, writeRun } from '../serving';

let server: TestServer;
const leaving: AbortController[] = [];

beforeEach(async () => {
  server = await startServer();
});

afterEach(async () => {
  for (const controller of leaving.splice(0)) controller.abort();
  await server.close();
});

/** One connection, heard in the background. */
class Listener {
  readonly events: HeardEvent[] = [];
  readonly leave = new AbortController();
  readonly ended: Promise<void>;

  constructor(run: string, lastId: string | null = null, query = '') {
    leaving.push(this.leave);
    this.ended = this.listen(run, lastId, query);
    this.ended.catch(() => undefined);
  }

  get lastId(): string | null {
    return this.events.at(-1)?.id ?? null;
  }

  steps(): number[] {
    return this.rows('step').map((row) => (row as unknown as MetricsRow).step);
  }

  rows(event: string): Record<string, unknown>[] {
    return this.events
      .filter((heard) => heard.event === event)
      .map(({ data }) => JSON.parse(data) as Record<string, unknown>);
  }

  private async listen(run: string, lastId: string | null, query: string): Promise<void> {
    const reply = await fetch(`${server.url}/api/v1/runs/${run}/events${query}`, {
      headers: lastId === null ? {} : { 'last-event-id': lastId },
      signal: this.leave.signal,
    });
    if (!reply.body || reply.status !== 200) throw new Error(`status ${reply.status}`);
    for await (const event of readEvents(reply.body)) this.events.push(event);
  }
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error('it did not come to be');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const openMetrics = (epoch: number) => server.store.openJournal('live', 'metrics', { epoch });

test('many rows to one who never reads leave others their turns', async () => {
  await writeRun(server.store, 'live');
  const journal = await openMetrics(1);
  for (let step = 1; step <= 5_000; step++) journal.append({ step });
  await journal.close();
  let sinceTurn = 0;
  let most = 0;
  const send = jest.spyOn(EventStream.prototype, 'send');
  let isWatching = true;
  const turn = () => {
    most = Math.max(most, send.mock.calls.length - sinceTurn);
    sinceTurn = send.mock.calls.length;
    if (isWatching) setImmediate(turn);
  };
  turn();
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write(`GET /api/v1/runs/live/events HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`);

  await until(() => send.mock.calls.length > 400);
  isWatching = false;
  socket.destroy();
  send.mockRestore();
  expect(most).toBeLessThanOrEqual(100);
});

test('tells steps as they come, each once across reconnects and takeovers, and ends with the run', async () => {
  await writeRun(server.store, 'live');
  const first = await openMetrics(1);
  first.append({ step: 1 });
  const listener = new Listener('live');
  await until(() => listener.steps().length === 1);
  first.append({ step: 2 });
  await until(() => listener.steps().length === 2);
  listener.leave.abort();
  const second = await openMetrics(2);
  second.append({ step: 3 });
  const back = new Listener('live', listener.lastId);
  await until(() => back.steps().length === 1);
  expect(second.renew(3)).toBe(true);
  second.append({ step: 4 });
  await second.close();
  await server.store.writeState('live', stateOf('live', { status: 'completed', step: 4, closedAt: 'now' }));

  await back.ended;

  expect([...listener.steps(), ...back.steps()]).toEqual([1, 2, 3, 4]);
  expect(back.events.at(-1)).toMatchObject({
    event: 'status',
    id: expect.stringMatching(/\.end$/) as string,
  });
  expect(back.rows('status').at(-1)).toMatchObject({ status: 'completed', step: 4 });
  const again = await fetch(`${server.url}/api/v1/runs/live/events`, {
    headers: { 'last-event-id': back.lastId ?? '' },
  });
  expect(again.status).toBe(204);
});

test('tells scores, checkpoints, changes and what else happened', async () => {
  await writeRun(server.store, 'live', { status: 'completed', closedAt: '2026-01-02T04:00:00.000Z' });
  const at = '2026-01-02T03:30:00.000Z';
  const events = await server.store.openJournal('live', 'events', { epoch: 1 });
  events.append({ at, kind: 'rewind', step: 3, text: 'back to 000000' });
  await events.close();
  const controls = await server.store.openJournal('live', 'controls', { epoch: 1 });
  controls.append({ at, by: 'me', reason: 'line\nbreak', step: 3, control: 'pause', from: null, to: {} });
  await controls.close();
  const listener = new Listener('live');

  await listener.ended;

  expect(listener.rows('event')).toMatchObject([{ kind: 'rewind' }]);
  expect(listener.rows('control')).toMatchObject([{ reason: 'line\nbreak' }]);
  expect(listener.rows('status')).toHaveLength(1);
});

test('many who follow one run hear the same, those who come late what was before, others only what is new', async () => {
  await writeRun(server.store, 'live');
  const journal = await openMetrics(1);
  journal.append({ step: 1 });
  const early = Array.from({ length: 20 }, () => new Listener('live'));
  await until(() => early.every((listener) => listener.steps().length === 1));
  journal.append({ step: 2 });
  await until(() => early.every((listener) => listener.steps().length === 2));
  const late = new Listener('live');
  const fresh = new Listener('live', null, '?from=now');
  await until(() => late.steps().length === 2 && fresh.rows('status').length === 1);
  journal.append({ step: 3 });

  await until(() => [...early, late, fresh].every((listener) => listener.steps().at(-1) === 3));

  expect(late.steps()).toEqual([1, 2, 3]);
  expect(fresh.steps()).toEqual([3]);
  await journal.close();
});

test('a run that was rewound and trained otherwise takes its steps back', async () => {
  await writeRun(server.store, 'live');
  const first = await openMetrics(1);
  for (const step of [1, 2, 3]) first.append({ step, 'train/nll': 1 });
  const listener = new Listener('live');
  await until(() => listener.steps().length === 3);
  const second = await server.store.openJournal('live', 'metrics', {
    epoch: 2,
    keep: ({ step }) => step <= 1,
  });
  second.append({ step: 2, 'train/nll': 0.5 });

  await until(() => listener.steps().length === 4);

  expect(listener.rows('rewind')).toEqual([{ step: 1 }]);
  expect(listener.rows('step').at(-1)).toEqual({ step: 2, 'train/nll': 0.5 });
  await second.close();
});

test('says that the status changed, and not that nothing did', async () => {
  await writeRun(server.store, 'live');
  const listener = new Listener('live');
  await until(() => listener.rows('status').length === 1);
  await server.store.writeState('live', stateOf('live', { status: 'paused' }));
  await until(() => listener.rows('status').length === 2);
  await new Promise((resolve) => setTimeout(resolve, 1500));

  expect(listener.rows('status').map(({ status }) => status)).toEqual(['running', 'paused']);
});

test('a server that stops ends its streams between events', async () => {
  await writeRun(server.store, 'live');
  const listener = new Listener('live');
  await until(() => listener.rows('status').length === 1);

  await server.close();

  await expect(listener.ended).resolves.toBeUndefined();
});
