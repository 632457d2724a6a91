import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'undici';

const MIB = 2 ** 20;
const ATTEMPTS = 50;
const RETRY_MS = 100;
const SAMPLES = 'JSON.stringify(process.memoryUsage())';

/** What a process still holds once garbage is collected, in MiB. */
export interface LiveMemory {
  readonly heap: number;
  readonly buffers: number;
}

/** A port for `--inspect-port`, which a process of Node opens when it gets SIGUSR1. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Has a process collect its garbage and say what is left. It was started with `--inspect-port`. */
export async function liveMemory(pid: number, port: number): Promise<LiveMemory> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await debuggerUrl(port));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', reject, { once: true });
  });
  try {
    // Buffers go with the objects that hold them, found by a second look.
    await call(socket, 1, 'HeapProfiler.collectGarbage', {});
    await call(socket, 2, 'HeapProfiler.collectGarbage', {});
    const { result } = await call(socket, 3, 'Runtime.evaluate', { expression: SAMPLES });
    const usage = JSON.parse(String(result?.value)) as NodeJS.MemoryUsage;
    return { heap: usage.heapUsed / MIB, buffers: usage.external / MIB };
  } finally {
    socket.close();
  }
}

async function debuggerUrl(port: number): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/json`);
      const [target] = (await response.json()) as { readonly webSocketDebuggerUrl: string }[];
      if (target) return target.webSocketDebuggerUrl;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
    await delay(RETRY_MS);
  }
}

interface Reply {
  readonly id: number;
  readonly result: { readonly result?: { readonly value: unknown } };
}

function call(socket: WebSocket, id: number, method: string, params: object): Promise<Reply['result']> {
  return new Promise((resolve) => {
    const listen = ({ data }: { readonly data: unknown }): void => {
      const reply = JSON.parse(String(data)) as Reply;
      if (reply.id !== id) return;
      socket.removeEventListener('message', listen);
      resolve(reply.result);
    };
    socket.addEventListener('message', listen);
    socket.send(JSON.stringify({ id, method, params }));
  });
}
