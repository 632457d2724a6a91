import { mkdirSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import type { CanarySchedule } from '../../src/client/schedule-handle';
import type { CanaryOptions } from '../../src/client/schedule-request';
import { setUpServer } from '../../src/client/setup-server';
import type { CanaryReport } from '../../src/core/canary';
import type { CanaryResult } from '../../src/workflows/canary-contracts';
import { until } from './harness/runs';
import { TestStack } from './harness/stack';

const EXAMPLES = 20;

interface Received {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: CanaryReport & { readonly text: string };
}

let stack: TestStack;
let everstep: Everstep;
let model: Server;
let listener: Server;
/** How many of the questions the model knows. */
let knownCount = EXAMPLES;
let isModelAway = false;
const received: Received[] = [];

beforeAll(async () => {
  stack = await TestStack.start();
  const folder = join(stack.folder, 'benchmarks', 'gsm8k');
  mkdirSync(folder, { recursive: true });
  const rows = Array.from({ length: EXAMPLES }, (_, index) => ({
    question: `Number ${index}?`,
    answer: `#### ${index}`,
  }));
  writeFileSync(join(folder, 'data.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  model = await serve((text, reply) => {
    const index = Number(/Number (\d+)\?/.exec(text)?.[1]);
    if (isModelAway) reply(503, { error: { message: 'away' } });
    else reply(200, completionOf(index < knownCount ? `#### ${index}` : '#### -1'));
  });
  listener = await serve((text, reply, headers) => {
    received.push({ headers, body: JSON.parse(text) as Received['body'] });
    reply(200, {});
  });
  everstep = await connect();
  await stack.startWorkers();
  // Its first firing is due while other stories go on.
  await create('often', { every: '10s' });
});

afterAll(async () => {
  await everstep.close();
  await stack.stop();
  model.closeAllConnections();
  listener.closeAllConnections();
  model.close();
  listener.close();
});

beforeEach(() => {
  knownCount = EXAMPLES;
  isModelAway = false;
  received.length = 0;
});

type Reply = (status: number, body: object) => void;

async function serve(
  answer: (text: string, reply: Reply, headers: Readonly<Record<string, unknown>>) => void,
): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const reply: Reply = (status, body) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      answer(Buffer.concat(chunks).toString('utf8'), reply, request.headers);
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return server;
}

function completionOf(content: string): object {
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  return { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }], usage };
}

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function connect(): Promise<Everstep> {
  return Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
}

function create(name: string, more: Partial<CanaryOptions> = {}): Promise<CanarySchedule> {
  return everstep.schedules.create(name, {
    benchmarks: 'gsm8k',
    endpoint: `${urlOf(model)}/v1`,
    model: 'canned',
    every: '1d',
    dataFolder: join(stack.folder, 'benchmarks'),
    ...more,
  });
}

/** Fires and waits for what it comes to. Firings are named by their second, so that each needs one of its own. */
async function fire(schedule: CanarySchedule): Promise<CanaryReport> {
  const before = await schedule.firings();
  const last = before.at(-1);
  await until(async () => ((await schedule.state()).isFiring ? null : true));
  await until(() => (last === undefined || Date.now() >= Date.parse(last.at) + 1000 ? true : null));
  await schedule.trigger();
  return until(async () => (await schedule.firings())[before.length] ?? null);
}

async function resultOf({ schedule, at }: CanaryReport): Promise<CanaryResult> {
  return (await stack.client.workflow.getHandle(`canary/${schedule}-${at}`).result()) as CanaryResult;
}

test('a score that falls alarms: in the result, in the store, for CI and by webhook', async () => {
  process.env['EVERSTEP_WEBHOOK_TOKEN'] = 'Bearer secret';
  const schedule = await create('falls', {
    webhook: `${urlOf(listener)}/hook`,
    webhookHeaders: { Authorization: 'EVERSTEP_WEBHOOK_TOKEN' },
  });

  const first = await fire(schedule);
  const second = await fire(schedule);
  knownCount = 10;
  const third = await fire(schedule);

  expect(first.scores).toMatchObject([{ score: 1, pinned: 1, verdict: 'pinned' }]);
  expect(second).toMatchObject({
    alarm: false,
    scores: [{ verdict: 'steady', difference: 0, method: 'paired' }],
  });
  expect(third).toMatchObject({
    alarm: true,
    scores: [{ score: 0.5, pinned: 1, difference: -0.5, verdict: 'worse', method: 'paired' }],
  });
  expect(await resultOf(third)).toMatchObject({ alarm: true, webhook: 'told' });
  expect(received).toHaveLength(1);
  expect(received[0]?.headers['authorization']).toBe('Bearer secret');
  expect(received[0]?.body).toMatchObject({ schedule: 'falls', at: third.at, alarm: true });
  expect(received[0]?.body.text).toContain('gsm8k: moved by -0.5');
  const elsewhere = await Everstep.connect({ store: join(stack.folder, 'store'), temporal: null });
  expect(await elsewhere.schedules.get('falls').alarms()).toEqual([third]);
  expect(await elsewhere.schedules.get('falls').check()).toMatchObject({ isAlarming: true });
  await elsewhere.close();
  const history = JSON.stringify(await stack.client.schedule.getHandle('canary/falls').describe());
  expect(history).not.toContain('Bearer secret');
});

test('what moved on purpose is pinned anew, and alarms no more', async () => {
  const schedule = await create('moved');
  await fire(schedule);
  knownCount = 10;
  expect(await fire(schedule)).toMatchObject({ alarm: true });

  await schedule.pinFiring();

  expect(await fire(schedule)).toMatchObject({ alarm: false, scores: [{ pinned: 0.5, verdict: 'steady' }] });
  knownCount = EXAMPLES;
  expect(await fire(schedule)).toMatchObject({ alarm: true, scores: [{ verdict: 'better' }] });
});

test('a given score alarms where it leaves the interval; a webhook that cannot be told fails nothing', async () => {
  const schedule = await create('given', { pin: 0.2, webhook: 'env:EVERSTEP_WEBHOOK_NOWHERE' });
  knownCount = 6;
  const near = await fire(schedule);
  knownCount = 18;
  const far = await fire(schedule);

  expect(near).toMatchObject({ alarm: false, scores: [{ method: 'interval', verdict: 'steady' }] });
  expect(far).toMatchObject({ alarm: true, scores: [{ pinned: 0.2, verdict: 'better' }] });
  expect(await resultOf(far)).toMatchObject({ alarm: true, webhook: 'not told' });
});

test('a model that stays away alarms at the deadline, and the next firing finds it again', async () => {
  const hasty = await create('away', { deadline: '1s' });
  isModelAway = true;
  const away = await fire(hasty);
  isModelAway = false;
  await hasty.delete();
  const back = await fire(await create('away'));

  expect(away).toMatchObject({ alarm: true, scores: [{ score: null, verdict: 'failed' }] });
  expect(away.scores[0]?.reason).toContain('within 1s');
  expect(back).toMatchObject({ alarm: false, scores: [{ verdict: 'pinned' }] });
});

test('fires by itself, stands still while it is paused, and is gone when it is deleted', async () => {
  const schedule = everstep.schedules.get('often');

  const first = await until(async () => (await schedule.firings())[0] ?? null);
  await schedule.pause('maintenance');
  await until(async () => ((await schedule.state()).isFiring ? null : true));
  const latest = (await schedule.firings()).at(-1);

  expect(Date.parse(first.at) % 10_000).toBe(0);
  expect(await schedule.state()).toMatchObject({ isPaused: true, note: 'maintenance', nextAt: null });
  const listed = await until(
    async () => (await everstep.schedules.list()).find(({ name }) => name === 'often') ?? null,
  );
  expect(listed).toMatchObject({
    isPaused: true,
    cadence: 'every 10s',
    benchmarks: ['gsm8k'],
    latest: { at: latest?.at },
  });
  await expect(create('often')).rejects.toMatchObject({ code: 'run-exists' });
  await schedule.resume();
  expect(await schedule.state()).toMatchObject({ isPaused: false });

  await schedule.delete();

  await expect(schedule.state()).rejects.toMatchObject({ code: 'unknown-run' });
  expect((await schedule.firings()).length).toBeGreaterThan(0);
});

test('a cron expression that is none is refused by the server in words', async () => {
  await expect(create('never', { every: undefined, cron: '61 25 * * *' })).rejects.toMatchObject({
    code: 'bad-config',
  });
});

test('a date that never comes is refused, and leaves no schedule', async () => {
  await expect(create('thirtieth', { every: undefined, cron: '0 0 30 2 *' })).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining('never comes') as string,
  });
  await expect(everstep.schedules.get('thirtieth').state()).rejects.toMatchObject({ code: 'unknown-run' });
});

test('setup adds what a server lacks, says so, and finds it the next time', async () => {
  const target = { address: stack.address, namespace: 'test-17-setup' };

  const first = await setUpServer(target);
  const second = await setUpServer(target);

  expect(first.namespace).toEqual({ name: 'test-17-setup', state: 'added' });
  expect(first.searchAttributes.map(({ name, state }) => [name, state])).toEqual(
    ['Kind', 'Run', 'Model', 'Step', 'Status', 'Score'].map((name) => [`Everstep${name}`, 'added']),
  );
  expect(second.namespace.state).toBe('present');
  expect(second.searchAttributes.every(({ state }) => state === 'present')).toBe(true);
});
