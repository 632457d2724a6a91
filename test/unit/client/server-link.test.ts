import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { Client } from '@temporalio/client';
import { ServerLink } from '../../../src/client/server-link';

const client = {} as unknown as Client;

/** A server that answers at the third try. */
class SlowServer extends ServerLink {
  tries = 0;

  override find(): Promise<Client | null> {
    return Promise.resolve(++this.tries < 3 ? null : client);
  }
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const target = (port: number) => ({ address: `127.0.0.1:${port}`, namespace: 'everstep' });

test('a server that takes connections and is slow to answer is waited for', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const link = new SlowServer(target((server.address() as AddressInfo).port));

  expect(await link.require()).toBe(client);
  server.close();
});

test('one that somebody starts again is waited for while nothing listens yet', async () => {
  const link = new SlowServer(target(await closedPort()), () => true);

  expect(await link.require()).toBe(client);
});

test('where nothing listens, and nobody says that it will, the answer comes at once', async () => {
  const link = new SlowServer(target(await closedPort()));

  await expect(link.require()).rejects.toThrow(
    /^No Temporal server answers at 127\.0\.0\.1:\d+ \(namespace everstep\)/,
  );
  expect(link.tries).toBe(1);
});

test.each([
  ['127.0.0.1:1', /leave that out and run `npx everstep dev`\.$/],
  ['localhost:1', /leave that out and run `npx everstep dev`\.$/],
  ['no-such-host.invalid:7233', /Start it, or correct TEMPORAL_ADDRESS\.$/],
])('whoever is without the server at %s is told what to start', async (address, remedy) => {
  const link = new SlowServer({ address, namespace: 'everstep' });

  await expect(link.require()).rejects.toThrow(remedy);
});

test('without an address nothing is asked', async () => {
  await expect(new ServerLink(null).require()).rejects.toThrow(
    /^No Temporal server is known\. Start one with `npx everstep dev` in another terminal, .*TEMPORAL_ADDRESS\.$/,
  );
});
