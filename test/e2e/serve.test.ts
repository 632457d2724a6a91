import { readEvents } from '../unit/server/serving';
import { findFreePort } from '../../src/stack/free-port';
import type { Command } from './harness/program';
import { Place } from './harness/program';

/** `everstep serve` as it is delivered, beside a stack that trains. */

let place: Place;

beforeEach(() => {
  place = new Place();
});

afterEach(() => place.remove(), 30_000);

interface Served {
  readonly url: string;
  readonly command: Command;
}

async function serve(...args: readonly string[]): Promise<Served> {
  const port = await findFreePort();
  const command = place.start('serve', '--port', String(port), ...args);
  await command.says(/Serving at|"url"/);
  return { url: `http://127.0.0.1:${port}`, command };
}

function post(address: string, body: object): Promise<Response> {
  return fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function follow(address: string, stopAfter: (event: string) => boolean) {
  const reply = await fetch(address);
  const heard: { event: string; data: Record<string, unknown> }[] = [];
  if (!reply.body) throw new Error('no body');
  for await (const { event, data } of readEvents(reply.body)) {
    heard.push({ event, data: JSON.parse(data) as Record<string, unknown> });
    if (stopAfter(event)) break;
  }
  return heard;
}

test('a run is followed, changed and asked over HTTP, and its records answer when the stack has gone', async () => {
  const dev = await place.dev();
  const { url, command } = await serve();
  const config = place.config({ steps: 300, saveEvery: 50, evalEvery: 50 });
  await place.run('train', config, '--run', 'served', '--detach');

  const changed = await post(`${url}/api/v1/runs/served/stop`, { reason: 'enough' });
  const refused = await post(`${url}/api/v1/runs/served/stop`, { atStep: 1000 });
  const heard = await follow(`${url}/api/v1/runs/served/events`, () => false);

  const receipt = (await changed.json()) as { step: number };
  expect(receipt).toMatchObject({ control: 'stop' });
  expect(refused.status).toBe(422);
  const steps = heard.filter(({ event }) => event === 'step').map(({ data }) => data['step']);
  expect(steps).toEqual(Array.from({ length: receipt.step }, (_, index) => index + 1));
  expect(heard.filter(({ event }) => event === 'control').map(({ data }) => data['reason'])).toContain(
    'enough',
  );
  expect(heard.at(-1)).toMatchObject({ event: 'status', data: { status: 'stopped' } });

  const answer = await post(`${url}/v1/chat/completions`, {
    ...{ model: 'served', messages: [{ role: 'user', content: '1+1=' }], max_tokens: 4 },
  });
  expect(await answer.json()).toMatchObject({ model: `served@${steps.length}`, object: 'chat.completion' });

  dev.child.kill('SIGTERM');
  await dev.ended;
  const metrics = (await (await fetch(`${url}/api/v1/runs/served/metrics`)).json()) as { metrics: object[] };
  const late = await post(`${url}/api/v1/runs/served/stop`, {});
  expect(metrics.metrics).toHaveLength(steps.length);
  expect(late.status).toBe(503);

  command.child.kill('SIGTERM');
  expect((await command.ended).code).toBe(0);
}, 240_000);

test('ends with 0 for SIGTERM and 130 for SIGINT, and says where it is in one line of JSON', async () => {
  for (const [signal, code] of [
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const) {
    const { url, command } = await serve('--json');
    expect(JSON.parse(command.stdout)).toMatchObject({ url, gateway: `${url}/v1`, asksForToken: false });
    const waiting = fetch(`${url}/api/v1/runs`).then((reply) => reply.status);
    expect(await waiting).toBe(200);
    command.child.kill(signal);
    expect((await command.ended).code).toBe(code);
  }
});

test('beyond this machine it asks for a token, or does not start', async () => {
  const { code, stderr } = await place.run(
    'serve',
    '--port',
    String(await findFreePort()),
    '--host',
    '0.0.0.0',
  );

  expect(code).toBe(2);
  expect(stderr).toContain('EVERSTEP_SERVE_TOKEN');
});
