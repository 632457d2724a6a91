import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import { readEnvironment } from '../../src/config/environment';
import { findFreePort } from '../../src/stack/free-port';
import { streamProgress } from '../../src/stack/progress';
import { binaryLookup, obtainTemporalBinary } from '../../src/stack/temporal-binary';
import type { TemporalServer } from '../../src/stack/temporal-server';
import { startTemporalServer } from '../../src/stack/temporal-server';

/** A page in the person's browser asks every port that the embedded server listens on; only Linux tells which those are. */
const onLinux = process.platform === 'linux' ? test : test.skip;

let server: TemporalServer;

beforeAll(async () => {
  const binary = await obtainTemporalBinary(binaryLookup(readEnvironment(), streamProgress(process.stderr)));
  const port = await findFreePort();
  server = await startTemporalServer({ binary: binary.path, port, uiPort: null, databaseFile: null });
});

afterAll(() => server.stop());

/** Loopback ports on which a process listens. */
function listeningPorts(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((descriptor) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${descriptor}`);
      } catch {
        return '';
      }
    }),
  );
  return ['tcp', 'tcp6'].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, 'utf8')
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
        const port = Number.parseInt(local.split(':')[1] ?? '', 16);
        return state === '0A' && sockets.has(`socket:[${inode}]`) ? [port] : [];
      }),
  );
}

/** What a page of another site can send without asking first. */
async function fromPage(port: number, path: string, body: string | null): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: body === null ? 'GET' : 'POST',
      headers: { origin: 'https://attacker.example', 'content-type': 'text/plain' },
      body,
    });
    return `${response.status} ${await response.text()}`;
  } catch {
    return 'no answer';
  }
}

onLinux('a web page can neither start, list nor end workflows, on whatever port it asks', async () => {
  const start = JSON.stringify({
    workflowType: { name: 'trainSupervised' },
    taskQueue: { name: 'everstep' },
  });
  const end = JSON.stringify({
    jobId: 'x',
    visibilityQuery: 'WorkflowId != ""',
    terminationOperation: {},
    reason: 'x',
  });
  const ports = listeningPorts(server.pid);

  const answers = await Promise.all(
    ports.flatMap((port) => [
      fromPage(port, '/api/v1/namespaces/everstep/workflows/owned', start),
      fromPage(port, '/api/v1/namespaces/everstep/batch-operations/owned', end),
      fromPage(port, '/api/v1/namespaces/everstep/workflows', null),
    ]),
  );

  const connection = await Connection.connect({ address: server.address });
  const { workflow } = new Client({ connection, namespace: 'everstep' });
  const described = workflow.getHandle('owned').describe();
  await expect(described).rejects.toThrow(/not found/i);
  await connection.close();
  expect(ports.length).toBeGreaterThan(1);
  expect(answers.filter((answer) => answer.startsWith('2'))).toEqual([]);
  expect(answers.filter((answer) => answer.includes('Host not allowed'))).toHaveLength(3);
});
