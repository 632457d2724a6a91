import { createServer } from 'node:net';

/** Below the range from which the system takes ports for outgoing connections: a service that is down keeps its own. */
const FIRST_PORT = 20_000;
const PORT_COUNT = 10_000;
let nextPort = (process.pid * 61) % PORT_COUNT;

export async function freePort(): Promise<number> {
  for (;;) {
    nextPort = (nextPort + 1) % PORT_COUNT;
    const port = FIRST_PORT + nextPort;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
