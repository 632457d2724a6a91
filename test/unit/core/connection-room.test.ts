import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { keepRoom, leaveWith } from '../../../src/core/connection-room';

const MOST = 4;

let server: Server;
let waiting: ServerResponse[];
const clients: Socket[] = [];

beforeEach(async () => {
  waiting = [];
  server = createServer((request, response) => {
    request.resume();
    if (request.url === '/wait') waiting.push(response);
    else response.end('done');
  });
  keepRoom(server, MOST);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

interface Client {
  readonly socket: Socket;
  /** All that it was sent. */
  readonly heard: () => string;
  /** By the server. */
  readonly isClosed: () => boolean;
}

/** It keeps its side open whatever the server does. */
async function client(sends = ''): Promise<Client> {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(socket);
  let heard = '';
  let isClosed = false;
  socket.on('data', (bytes: Buffer) => (heard += bytes.toString()));
  socket.on('error', () => undefined);
  for (const end of ['end', 'close']) socket.once(end, () => (isClosed = true));
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(sends);
  return { socket, heard: () => heard, isClosed: () => isClosed };
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const open = () =>
  new Promise<number>((resolve) => {
    server.getConnections((_, count) => {
      resolve(count);
    });
  });
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test('those who send nothing, half a request or one and no more keep nobody out', async () => {
  const silent = await client();
  const half = await client(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf`);
  const idle = await client(get('/'));
  await until(() => idle.heard().includes('done'));
  await until(async () => (await open()) === 3);

  for (let more = 0; more < 3 * MOST; more += 1) {
    const next = await client(get('/'));
    await until(() => next.heard().includes('done'));
  }

  await until(() => [silent, half, idle].every(({ isClosed }) => isClosed()));
  expect(await open()).toBeLessThanOrEqual(MOST);
});

test('whoever waits for an answer is never closed for others', async () => {
  const asking = await client(get('/wait'));
  await until(() => waiting.length === 1);

  for (let more = 0; more < 3 * MOST; more += 1) {
    const next = await client(get('/'));
    await until(() => next.heard().includes('done'));
  }
  waiting[0]?.end('at last');

  await until(() => asking.heard().includes('at last'));
});

test('where all wait for answers, nobody else is let in', async () => {
  for (let place = 0; place < MOST; place += 1) await client(get('/wait'));
  await until(() => waiting.length === MOST);

  const late = await client(get('/'));

  await until(late.isClosed);
  expect(late.heard()).toBe('');
});

test('who was told to leave is gone, though it never hangs up', async () => {
  server.on('connection', (socket) => {
    leaveWith(socket, 'bye');
  });
  const told = await client();

  await until(() => told.heard() === 'bye');
  await until(async () => (await open()) === 0);
});
