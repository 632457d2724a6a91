import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { probeEngine } from '../../../src/client/probe-engine';

async function listen(
  status: number,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer((_request, reply) => {
    reply.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

test.each([200, 401, 404, 503])('a service that answers %i is there', async (status) => {
  const { url, close } = await listen(status);
  try {
    await expect(probeEngine(url)).resolves.toBeUndefined();
  } finally {
    await close();
  }
});

test('one that does not answer is refused with its address', async () => {
  const { url, close } = await listen(200);
  await close();

  await expect(probeEngine(url)).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/engine\.url: .*127\.0\.0\.1:\d+.*ECONNREFUSED.*--engine/) as string,
  });
});
