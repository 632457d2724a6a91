import { createServer } from 'node:net';
import { findFreePort, holdPort } from '../../../src/stack/free-port';

test('of those who want one port at once a single one gets it, and the others another each', async () => {
  const wanted = await findFreePort();

  const held = await Promise.all(Array.from({ length: 8 }, () => holdPort(wanted)));

  const ports = held.map(({ port }) => port);
  held.forEach((one) => {
    one.release();
  });
  expect(new Set(ports).size).toBe(8);
  expect(ports.filter((port) => port === wanted)).toHaveLength(1);
});

test('a port that is held can be listened on, and is anybody’s again when it is released', async () => {
  const held = await holdPort(null);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(held.port, '127.0.0.1', resolve));
  await new Promise((resolve) => server.close(resolve));
  held.release();

  const next = await holdPort(held.port);
  next.release();

  expect(next.port).toBe(held.port);
});

test('one that somebody listens on is not held', async () => {
  const port = await findFreePort();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  const held = await holdPort(port);
  held.release();
  await new Promise((resolve) => server.close(resolve));

  expect(held.port).not.toBe(port);
});
