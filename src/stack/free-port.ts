import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** A port that is this process's until it is released or the process ends. */
export interface HeldPort {
  readonly port: number;
  release(): void;
}

const LOOPBACK = '127.0.0.1';
const RELEASE_LIMIT_MS = 5000;

/** A free port on the loopback interface at this moment. Somebody else may take it before it is used. */
export async function findFreePort(): Promise<number> {
  const held = await holdPort(null);
  held.release();
  return held.port;
}

/**
 * Holds a free port on the loopback interface for a program that is yet to listen on it: `preferred` if it is free, else any.
 *
 * Whoever holds a port has bound the UDP port of the same number: the system gives that to one process alone, whatever its
 * user and folder, and takes it back when the process ends in any way. TCP stays free for the program.
 */
export async function holdPort(preferred: number | null): Promise<HeldPort> {
  const usual = preferred === null ? null : await tryToHold(preferred);
  if (usual !== null) return usual;
  for (;;) {
    const held = await tryToHold(0);
    if (held !== null) return held;
  }
}

async function tryToHold(port: number): Promise<HeldPort | null> {
  const held = await bindTwin(port);
  if (held === null || (await isPortFree(held.port))) return held;
  held.release();
  return null;
}

function bindTwin(port: number): Promise<HeldPort | null> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => {
      socket.close();
      resolve(null);
    });
    socket.bind({ port, address: LOOPBACK, exclusive: true }, () => {
      socket.unref();
      const { port: bound } = socket.address();
      resolve({
        port: bound,
        release: () => {
          socket.close();
        },
      });
    });
  });
}

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** A port just used by a process of ours becomes free in a moment; one taken by somebody else is given up for another. */
export async function keepOrReplacePort(held: HeldPort): Promise<HeldPort> {
  const deadline = performance.now() + RELEASE_LIMIT_MS;
  while (performance.now() < deadline) {
    if (await isPortFree(held.port)) return held;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  held.release();
  return holdPort(null);
}
