import { createServer } from 'node:net';

const RELEASE_LIMIT_MS = 5000;

/** A free port on the loopback interface: `preferred` if it is free, else any that is not in `taken`. */
export async function findFreePort(
  preferred?: number | null,
  taken: ReadonlySet<number> = new Set(),
): Promise<number> {
  if (preferred != null && !taken.has(preferred) && (await isPortFree(preferred))) return preferred;
  for (;;) {
    const port = await listenOnce(0);
    if (port !== null && !taken.has(port)) return port;
  }
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

/** Listens for a moment and tells the port, or null when it is in use. */
function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(null);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : null);
      });
    });
  });
}

/** A port just used by a process of ours becomes free in a moment; one taken by somebody else is given up. */
export async function keepOrReplacePort(port: number | null): Promise<number> {
  const deadline = performance.now() + RELEASE_LIMIT_MS;
  while (port !== null && performance.now() < deadline) {
    if (await isPortFree(port)) return port;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return findFreePort();
}
