import pino from 'pino';
import { z } from 'zod';
import { RunHandle } from '../../../../src/client/run-handle';
import { addChangeRoutes } from '../../../../src/server/api/change-routes';
import type { RunAccess } from '../../../../src/server/api/run-access';
import { samplingFields } from '../../../../src/server/gateway/sampling-schemas';
import { createApp } from '../../../../src/server/http/app';
import { ErrorBody } from '../../../../src/server/http/error-body';
import { parsePart } from '../../../../src/server/http/parse-part';
import { Routes } from '../../../../src/server/http/route';
import { FakeServer } from '../../client/fake-server';
import type { TestServer } from '../serving';
import { startServer, writeRun } from '../serving';

const Body = z.object({ stop: samplingFields.stop });

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
  await writeRun(server.store, 'done', {
    ...{ status: 'completed', step: 30, closedAt: '2026-01-02T04:00:00.000Z' },
  });
});

afterAll(async () => {
  await server.close();
});

/** Posts to the routes of changes, with a Temporal server that takes everything. */
async function post(path: string, payload: object) {
  const temporal = new FakeServer();
  const access = {
    liveHandle: (run: string) =>
      Promise.resolve(new RunHandle(run, { link: temporal.link, records: server.store })),
  } as unknown as RunAccess;
  const app = createApp({ token: null, hosts: [] }, pino({ level: 'silent' }));
  addChangeRoutes(new Routes(app), access);
  try {
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const reply = await fetch(`${url}/api/v1/runs/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(payload),
    });
    return { status: reply.status, ...ErrorBody.parse(await reply.json()).error, temporal };
  } finally {
    await app.close();
  }
}

test('a run that has ended is not cancelled', async () => {
  const { temporal, ...answer } = await post('done/cancel', {});

  expect(answer).toMatchObject({ status: 422, code: 'refused' });
  expect(answer.message).toContain('has ended (completed)');
  expect(temporal.cancelled).toEqual([]);
});

test('`best` is the promoted checkpoint, which nobody has promoted here', async () => {
  for (const change of ['promote', 'eval']) {
    const { status, message } = await post(`done/${change}`, { checkpoint: 'best' });

    expect(status).toBeGreaterThanOrEqual(400);
    expect(message).toContain('Nobody promoted a checkpoint of run "done"');
  }
});

test('a checkpoint by another name is told how it is named', async () => {
  const { status, message } = await post('done/promote', { checkpoint: 'done@20' });

  expect(status).toBe(422);
  expect(message).toContain('give the step of a kept checkpoint as a number, e.g. 100, or "best"');
});

test('a rhythm that is a lone number is told how it is written', async () => {
  const { status, message } = await post('done/set', { schedule: { name: 'a', every: 150 } });

  expect(status).toBe(422);
  expect(message).toContain('schedule.every (body): give {"steps": 150}');
});

test.each([
  [Array.from({ length: 17 }, () => 'x'), /^stop \(body\): .*16/],
  [['x', ''], /^stop\.1 \(body\): .*1 char/],
  [7, /^stop \(body\): .*string.*array/],
])('of the forms of %j the refusal says what is wrong', (stop, message) => {
  expect(messageOf(stop)).toMatch(message);
});

function messageOf(stop: unknown): string {
  try {
    parsePart(Body, { stop }, { part: 'body' });
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
  return 'nothing was refused';
}
