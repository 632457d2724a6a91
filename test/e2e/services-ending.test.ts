import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { findFreePort } from '../../src/stack/free-port';
import { readStackRecord } from '../../src/stack/stack-record';
import { Place, until } from './harness/program';

let place: Place;

beforeEach(() => {
  place = new Place();
});

afterEach(() => place.remove());

test('a worker that waits for its server ends when it is asked to', async () => {
  const server = createServer();
  const connected = new Promise((resolve) => server.once('connection', resolve));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const worker = place.start('worker', '--temporal-address', `127.0.0.1:${port}`);
  await connected;

  worker.child.kill('SIGTERM');
  const { code } = await worker.ended;
  server.close();

  expect(code).toBe(0);
});

test('what npx started ends when npx is asked to, although npx passes its signal on to a shell only', async () => {
  const npx = place.startByNpx('serve', '--port', String(await findFreePort()));
  await npx.says(/Serving at/);

  npx.child.kill('SIGTERM');

  await until(() => place.processes().length === 0);
});

test('Ctrl-C while the services of a stack start ends them all, and says that it does', async () => {
  const dev = place.start('dev');
  await until(() => readStackRecord(place.data)?.children.length === 4);

  dev.child.kill('SIGINT');
  const { code, stderr } = await dev.ended;

  expect(code).toBe(130);
  expect(stderr).toContain('Stopping…');
  expect(place.processes().filter(({ line }) => line.includes(' worker '))).toEqual([]);
});

test('a second Ctrl-C leaves nothing of a stack behind, not even what does not react', async () => {
  const dev = await place.dev();
  for (const { name, pid } of place.stack().children)
    if (name.startsWith('worker')) process.kill(pid, 'SIGSTOP');

  await until(() => dev.child.exitCode !== null || !dev.child.kill('SIGINT'));
  await until(() => place.processes().length === 0);

  expect(dev.child.exitCode).toBe(130);
});
