import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EngineProxy } from './engine-proxy';
import type { Fault } from './engine-proxy';
import { freePort } from './free-port';

/** Counts what reaches it and repeats it. */
let engine: Server;
let proxy: EngineProxy;
let arrived: string[];

beforeEach(async () => {
  arrived = [];
  engine = createServer((incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (text: string) => (body += text));
    incoming.on('end', () => {
      arrived.push(body);
      outgoing.writeHead(201, { 'x-answer': 'yes' }).end(`heard ${body}`);
    });
  });
  await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
  proxy = new EngineProxy(await freePort(), (engine.address() as AddressInfo).port);
  await proxy.open();
});

afterEach(async () => {
  await proxy.dispose();
  engine.closeAllConnections();
  await new Promise((resolve) => engine.close(resolve));
});

async function ask(body: string): Promise<string> {
  const answer = await fetch(`${proxy.url}/some/path`, { method: 'POST', body });
  return `${answer.status} ${answer.headers.get('x-answer') ?? ''} ${await answer.text()}`;
}

interface Asked {
  readonly answers: readonly PromiseSettledResult<string>[];
  readonly struck: number;
}

async function askMany(fault: Fault): Promise<Asked> {
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (end = resolve));
  const weather = proxy.during(fault, 3, over);
  const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => ask(String(index))));
  end();
  return { answers, struck: await weather };
}

test('passes requests and answers on while nothing is wrong', async () => {
  await expect(ask('one')).resolves.toBe('201 yes heard one');
  expect(arrived).toEqual(['one']);
});

test('drops answers to requests that the engine handled', async () => {
  const { answers, struck } = await askMany('answers-dropped');

  const lost = answers.filter(({ status }) => status === 'rejected').length;
  expect([arrived.length, lost]).toEqual([20, struck]);
  expect(lost).toBeGreaterThan(0);
  await expect(ask('after')).resolves.toBe('201 yes heard after');
});

test('shows the engine requests twice, and the client one answer', async () => {
  const { answers, struck } = await askMany('requests-doubled');

  expect(answers.every(({ status }) => status === 'fulfilled')).toBe(true);
  expect(arrived).toHaveLength(20 + struck);
  expect(struck).toBeGreaterThan(0);
});

test('resets connections, some before the engine saw the request', async () => {
  const { answers, struck } = await askMany('connections-reset');

  const lost = answers.filter(({ status }) => status === 'rejected').length;
  expect(lost).toBe(struck);
  expect(arrived.length).toBeLessThan(20);
});

test('is unreachable while it is closed, and reachable at the same address afterwards', async () => {
  await proxy.close();
  await expect(ask('nobody')).rejects.toThrow();

  await proxy.open();
  await expect(ask('again')).resolves.toBe('201 yes heard again');
});
