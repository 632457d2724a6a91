import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { patientFetch } from '../../../../src/core/concurrency/patient-fetch';

const PATIENCE = { idleMs: 200, attempts: 3, pauseMs: 1 };
/** Long enough that a busy machine does not miss what comes meanwhile. */
const CALM = { ...PATIENCE, idleMs: 2000 };
const MEGABYTE = 1_000_000;

let server: Server | null = null;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

async function serve(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('asks a silent server three times, then says for how long nothing came', async () => {
  let requestCount = 0;
  const url = await serve(() => requestCount++);

  await expect(patientFetch(PATIENCE)(url)).rejects.toThrow('nothing came for 0.2 s');
  expect(requestCount).toBe(3);
});

test('a body that stops coming fails, and is not asked for again', async () => {
  let requestCount = 0;
  const url = await serve((_request, response) => {
    requestCount++;
    response.writeHead(200, { 'content-length': '10' }).write('half');
  });

  const response = await patientFetch(PATIENCE)(url);

  await expect(response.text()).rejects.toThrow('nothing came for 0.2 s');
  expect(requestCount).toBe(1);
});

test('a body of more bytes than are taken fails', async () => {
  const url = await serve((_request, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(MEGABYTE)));
      response.once('drain', more);
    };
    response.writeHead(200);
    more();
  });

  const response = await patientFetch(CALM, 3 * MEGABYTE)(url);

  await expect(response.arrayBuffer()).rejects.toThrow(`more than ${3 * MEGABYTE} bytes came`);
});

test('a long body that keeps coming is read to its end, however slow its reader is', async () => {
  const url = await serve((_request, response) => {
    response.writeHead(200);
    void (async () => {
      for (let part = 0; part < 5; part++) {
        response.write(Buffer.alloc(MEGABYTE));
        await delay(100);
      }
      response.end();
    })();
  });

  const response = await patientFetch(CALM)(url);
  await delay(CALM.idleMs * 2);

  expect((await response.arrayBuffer()).byteLength).toBe(5 * MEGABYTE);
  expect(response.url).toBe(url);
});

test.each([429, 500, 503])('asks again after %s', async (status) => {
  let requestCount = 0;
  const url = await serve((_request, response) => {
    response.writeHead(++requestCount < 3 ? status : 200).end('there');
  });

  expect(await (await patientFetch(PATIENCE)(url)).text()).toBe('there');
});

test('an answer that no later one will change is given back at once', async () => {
  let requestCount = 0;
  const url = await serve((_request, response) => {
    requestCount++;
    response.writeHead(404).end();
  });

  expect((await patientFetch(PATIENCE)(url)).status).toBe(404);
  expect(requestCount).toBe(1);
});

test('one who calls off is not made to wait', async () => {
  let requestCount = 0;
  const calledOff = new AbortController();
  const url = await serve(() => {
    requestCount++;
    calledOff.abort();
  });

  const answer = patientFetch({ ...PATIENCE, idleMs: 60_000 })(url, { signal: calledOff.signal });

  await expect(answer).rejects.toThrow();
  expect(requestCount).toBe(1);
});
